// Divides a document with long lists into small documents. Work that remembers its results for the items of long lists
// (long-lists.ts) can handle one small document after the other, with other work in between. The whole document then costs next
// to nothing.
import { MIN_ITEMS } from './long-lists.ts';

/** The number of items of one small document; the last has up to half as many more. */
const CHUNK = 2 * MIN_ITEMS;
/** The number of levels of objects and lists above a long list. */
const MAX_LEVELS = 5;

type Step = string | number;

/**
 * Yields the document several times, each time with a part of one of its long lists, and without the other ones. Yields nothing
 * for a document without long lists.
 */
export function* listChunks<T extends object>(document: T): Generator<T, void> {
  const found = longLists(document);
  if (found.length === 0) return;
  let frame: unknown = document;
  for (const { path } of found) frame = withMember(frame, path, []);
  for (const { path, list } of found) for (const chunk of chunksOf(list)) yield withMember(frame, path, chunk) as T;
}

/** The parts of a list; each is as long as a long list, if the list is. */
export function* chunksOf<T>(list: readonly T[]): Generator<readonly T[], void> {
  for (let at = 0; at < list.length;) {
    const left = list.length - at;
    const size = left < CHUNK + MIN_ITEMS ? left : CHUNK;
    yield list.slice(at, at + size);
    at += size;
  }
}

function longLists(document: object): { readonly path: readonly Step[]; readonly list: readonly unknown[] }[] {
  const found: { path: readonly Step[]; list: readonly unknown[] }[] = [];
  const look = (value: unknown, path: readonly Step[]): void => {
    if (typeof value !== 'object' || value === null || path.length > MAX_LEVELS) return;
    if (Array.isArray(value) && value.length >= MIN_ITEMS) found.push({ path, list: value });
    else for (const [key, member] of Object.entries(value)) look(member, [...path, Array.isArray(value) ? Number(key) : key]);
  };
  look(document, []);
  return found;
}

/** A copy of a value with another member. */
function withMember(value: unknown, [step, ...rest]: readonly Step[], member: unknown): unknown {
  if (step === undefined) return member;
  if (Array.isArray(value)) return value.map((item: unknown, at) => (at === step ? withMember(item, rest, member) : item));
  const object = value as Readonly<Record<string, unknown>>;
  return { ...object, [step]: withMember(object[step], rest, member) };
}
