// Random specs: documents of the corpus with dropped, doubled, exchanged or replaced parts. The same seed gives the same mutants.
import type { Json, JsonObject } from '../../src/resource/types.ts';
import type { Document } from './corpus.ts';

type Path = readonly (string | number)[];
type Part = { readonly path: Path; readonly value: Json };
/** A number from 0 to `below`, exclusive. */
export type Random = (below: number) => number;

const NUMBERS = [0, 1, 2, 99, 100, 101, 65_535, 65_536, -1, 2_147_483_647, 4_294_967_295];
const DURATIONS = ['0s', '1ns', '1.5h', '300ms', '-1s', '1h1m1.001s', '100000h', '1us'];
const TEXTS = ['', 'a', '0', '-1', '1.5', '/', 'a b', 'A.b'];
const IS_DURATION = /^-?([0-9.]+(ns|us|µs|ms|s|m|h))+$/;

/** Pseudo-random numbers that depend only on the seed (mulberry32). */
export function randomOf(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * below);
  };
}

/** `count` documents made of those of the same type, named `mutant-0` and so on, with one to three changes in `spec`. */
export function mutantsOf(documents: readonly Document[], count: number, random: Random): Document[] {
  const pool = documents.flatMap(({ body }) => partsOf(specOf(body)));
  return Array.from({ length: count }, (_, index) => {
    const { info, body } = pick(documents, random);
    const name = `mutant-${String(index)}`;
    let spec = specOf(body);
    for (let changes = 1 + random(3); changes > 0; changes -= 1) spec = changed(spec, pool, random);
    return { info, name, body: { ...body, name, spec } };
  });
}

/** A copy of the document in which the value at one path of `spec` is of another JSON type; one for each path and type. */
export function wrongTypesOf({ info, name, body }: Document): Document[] {
  const others: Json[] = [5, 1.5, true, 'text', [], [{}], {}, { a: { b: 1 } }];
  return partsOf(specOf(body)).flatMap(({ path, value }) =>
    others
      .filter((other) => kindOf(other) !== kindOf(value))
      .map((other) => ({ info, name, body: { ...body, spec: replaced(specOf(body), path, other) as JsonObject } })),
  );
}

function specOf(body: JsonObject): JsonObject {
  return body['spec'] as JsonObject;
}

function changed(spec: JsonObject, pool: readonly Part[], random: Random): JsonObject {
  const parts = partsOf(spec);
  if (parts.length === 0) return spec;
  const { path, value } = pick(parts, random);
  switch (random(4)) {
    case 0:
      return replaced(spec, path, undefined) as JsonObject;
    case 1: {
      const alike = pool.filter((part) => shapeOf(part.path) === shapeOf(path));
      return replaced(spec, path, alike.length === 0 ? value : pick(alike, random).value) as JsonObject;
    }
    case 2:
      return replaced(spec, path, Array.isArray(value) ? [...value, ...value] : edge(value, random)) as JsonObject;
    default:
      return replaced(spec, path, edge(value, random)) as JsonObject;
  }
}

/** Another scalar of the same kind; other values stay. */
function edge(value: Json, random: Random): Json {
  if (typeof value === 'number') return pick(NUMBERS, random);
  if (typeof value === 'boolean') return !value;
  if (typeof value === 'string') return pick(IS_DURATION.test(value) ? DURATIONS : TEXTS, random);
  return value;
}

function partsOf(value: Json, path: Path = []): Part[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => below(item, [...path, index]));
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([key, item]) => below(item, [...path, key]));
  return [];
}

function below(value: Json, path: Path): Part[] {
  return [{ path, value }, ...partsOf(value, path)];
}

/** The path with equal indexes. */
function shapeOf(path: Path): string {
  return path.map((step) => (typeof step === 'number' ? '*' : step)).join('.');
}

/** A copy with another value at the path; undefined removes the key or the item. */
function replaced(value: Json, [step, ...rest]: Path, to: Json | undefined): Json {
  if (step === undefined) return to ?? null;
  if (Array.isArray(value)) {
    if (rest.length === 0 && to === undefined) return value.filter((_, index) => index !== step);
    return value.map((item, index) => (index === step ? replaced(item, rest, to) : item));
  }
  const { [step]: before, ...others } = value as JsonObject;
  if (rest.length === 0 && to === undefined) return others;
  return { ...others, [step]: replaced(before ?? null, rest, to) };
}

function kindOf(value: Json): string {
  return Array.isArray(value) ? 'list' : typeof value;
}

function pick<Item>(items: readonly Item[], random: Random): Item {
  const item = items[random(items.length)];
  if (item === undefined) throw new Error('there is nothing to pick from');
  return item;
}
