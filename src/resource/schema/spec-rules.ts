// Rules that zod cannot say well (this field excludes that one) and unknown keys: one walk over a schema and a value together.
// Rules run wherever the value is an object, also beside wrong neighbours, so that all violations of a document come at once.
import { z } from 'zod';
import type { Json, JsonObject } from '../types.ts';
import { Findings } from './findings.ts';
import { at } from './json-access.ts';
import { nearestKey } from './nearest-key.ts';
import { child } from './spec-path.ts';
import { textOf } from '../read-json.ts';

/** A pure check of one object at `path`. It must bear members of any type: their shape is the schema's business. */
export type Rule = (value: JsonObject, path: string, findings: Findings) => void;

/** Called for each key that a schema does not have. `hint()` says what the person may have meant. */
export type OnUnknownKey = (path: string, hint: () => string) => void;

type Node =
  | { readonly is: 'leaf' }
  | { readonly is: 'list'; readonly item: Node }
  | { readonly is: 'map'; readonly value: Node }
  | {
      readonly is: 'object';
      readonly keys: ReadonlyMap<string, Node>;
      readonly isOpen: boolean;
      readonly rules: readonly Rule[];
    };

const rulesOf = new WeakMap<z.ZodType, readonly Rule[]>();
const nodes = new WeakMap<z.ZodType, Node>();
const LEAF: Node = { is: 'leaf' };

/** The same schema, whose objects also obey `rules`. Describe it before, or describe the optional: a described schema is a copy. */
export function withRules<S extends z.ZodObject>(schema: S, ...rules: readonly Rule[]): S {
  rulesOf.set(schema, [...(rulesOf.get(schema) ?? []), ...rules]);
  return schema;
}

/** A rule: at least one of these keys must be there. */
export function atLeastOne(...keys: readonly [string, ...string[]]): Rule {
  const reason = `must have at least one of ${keys.join(', ')}`;
  return (value, path, findings) => {
    if (keys.every((key) => value[key] === undefined)) findings.violation(path, reason);
  };
}

/** A rule: the object that `type` names must be there (`Header` → `header`). */
export function needsObjectOfType(objects: Readonly<Record<string, string>>): Rule {
  return (value, path, findings) => {
    const type = value['type'];
    const key = typeof type === 'string' && Object.hasOwn(objects, type) ? objects[type] : undefined;
    if (key !== undefined && value[key] === undefined)
      findings.violation(child(path, key), `must be given with type ${textOf(type)}`);
  };
}

/** A rule: none of these dotted paths may be set; each that is makes a violation of its own. */
export function refuses(paths: readonly string[], reason: string): Rule {
  return (value, path, findings) => {
    for (const refused of paths) if (at(value, refused) !== undefined) findings.violation(`${path}.${refused}`, reason);
  };
}

/** Runs all rules of a schema and reports unknown keys. */
export function applyRules(schema: z.ZodType, value: JsonObject, findings: Findings, onUnknownKey: OnUnknownKey): void {
  // Paths are made when somebody reads them: nearly every document has nothing to report, and rules are tried without one first.
  let trial = new Findings();
  const steps: (string | number)[] = [];
  const here = (): string => steps.reduce<string>(child, 'spec');
  const walkMember = (node: Node, given: Json, step: string | number): void => {
    if (typeof given !== 'object' || given === null || node.is === 'leaf') return;
    steps.push(step);
    walk(node, given);
    steps.pop();
  };
  const walk = (node: Node, given: Json[] | JsonObject): void => {
    if (Array.isArray(given)) {
      if (node.is === 'list')
        for (let index = 0; index < given.length; index += 1) walkMember(node.item, given[index] ?? null, index);
    } else if (node.is === 'map') {
      for (const key of Object.keys(given)) walkMember(node.value, given[key] ?? null, key);
    } else if (node.is === 'object') {
      for (const key of Object.keys(given)) {
        const known = node.keys.get(key);
        if (known !== undefined) walkMember(known, given[key] ?? null, key);
        else if (!node.isOpen) onUnknownKey(child(here(), key), () => hint(key, [...node.keys.keys()]));
      }
      for (const rule of node.rules) {
        rule(given, '', trial);
        if (trial.isEmpty) continue;
        trial = new Findings();
        rule(given, here(), findings);
      }
    }
  };
  walk(nodeOf(schema), value);
}

/** A copy without the keys that the schema does not have: what a plain PUT stores (decisions D7). */
export function knownPart(schema: z.ZodType, value: JsonObject): JsonObject {
  const known = (node: Node, given: Json): Json => {
    if (typeof given !== 'object' || given === null || node.is === 'leaf') return given;
    if (Array.isArray(given)) return node.is === 'list' ? given.map((item) => known(node.item, item)) : given;
    const entries = Object.entries(given);
    if (node.is === 'map') return Object.fromEntries(entries.map(([key, member]) => [key, known(node.value, member)]));
    if (node.is === 'list') return given;
    const kept = entries.filter(([key]) => node.isOpen || node.keys.has(key));
    return Object.fromEntries(kept.map(([key, member]) => [key, known(node.keys.get(key) ?? LEAF, member)]));
  };
  return known(nodeOf(schema), value) as JsonObject;
}

function hint(key: string, known: readonly string[]): string {
  const nearest = nearestKey(key, known);
  return nearest === null ? `known keys are ${known.join(', ')}` : `did you mean ${JSON.stringify(nearest)}?`;
}

function nodeOf(schema: z.ZodType): Node {
  const ready = nodes.get(schema);
  if (ready !== undefined) return ready;
  const node = buildNode(schema);
  nodes.set(schema, node);
  return node;
}

function buildNode(schema: z.ZodType): Node {
  if (schema instanceof z.ZodOptional) return nodeOf(schema.unwrap() as z.ZodType);
  if (schema instanceof z.ZodArray) return { is: 'list', item: nodeOf(schema.element as z.ZodType) };
  if (schema instanceof z.ZodRecord) return { is: 'map', value: nodeOf(schema.valueType as z.ZodType) };
  if (!(schema instanceof z.ZodObject)) return LEAF;
  const shape = schema.shape as Readonly<Record<string, z.ZodType>>;
  return {
    is: 'object',
    keys: new Map(Object.entries(shape).map(([key, member]) => [key, nodeOf(member)])),
    isOpen: schema.def.catchall !== undefined,
    rules: rulesOf.get(schema) ?? [],
  };
}
