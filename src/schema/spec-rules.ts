// Rules that zod cannot say well (this field excludes that one) and unknown keys: one walk over a schema and a value together.
// Rules run wherever the value is an object, also beside wrong neighbours, so that all violations of a document come at once.
import { z } from 'zod';
import type { Json, JsonObject } from '../resource/types.ts';
import { FaultlessItems } from './faultless-items.ts';
import { Findings } from './findings.ts';
import { at } from '../resource/json-access.ts';
import { keyHint, nearestKey } from '../resource/nearest-key.ts';
import { child } from '../resource/spec-path.ts';
import { shapeOf, type Shape } from './spec-shape.ts';
import { textOf } from '../resource/read-json.ts';

/** A pure check of one object at `path`. It must bear members of any type: their shape is the schema's business. */
export type Rule = (value: JsonObject, path: string, findings: Findings) => void;

/**
 * It is called for each key that a schema does not have. `hint()` names the probable key; `meant()` is its path if it is missing,
 * else null.
 */
export type OnUnknownKey = (path: string, hint: () => string, meant: () => string | null) => void;

/** The items that have no unknown key, and in which no rule finds a fault. */
const itemsWithout = new FaultlessItems();

/** The rules by the definition of the schema: that is the same for a described copy. */
const rulesOf = new WeakMap<object, readonly Rule[]>();

/** The schema with `rules` for its objects. */
export function withRules<S extends z.ZodObject>(schema: S, ...rules: readonly Rule[]): S {
  rulesOf.set(schema.def, [...(rulesOf.get(schema.def) ?? []), ...rules]);
  return schema;
}

/** The schema without one of its keys, under the same rules. */
export function without(schema: z.ZodObject, key: string): z.ZodObject {
  const { [key]: _left, ...shape } = schema.shape;
  return withRules(z.object(shape), ...(rulesOf.get(schema.def) ?? []));
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

/** A rule: each of these dotted paths that is set makes a warning. */
export function warnsOf(paths: readonly string[], sentence: string): Rule {
  return (value, path, findings) => {
    for (const warned of paths) if (at(value, warned) !== undefined) findings.warning(`${path}.${warned}`, sentence);
  };
}

/** Runs all rules of a schema and reports unknown keys. */
export function applyRules(schema: z.ZodType, value: JsonObject, findings: Findings, onUnknownKey: OnUnknownKey): void {
  // Paths are built lazily: nearly every document has nothing to report, and rules are tried without a path first.
  let trial = new Findings();
  let found = 0;
  const steps: (string | number)[] = [];
  const here = (): string => steps.reduce<string>(child, 'spec');
  const walkMember = (shape: Shape, given: Json, step: string | number): void => {
    if (typeof given !== 'object' || given === null) return;
    steps.push(step);
    walk(shape, given);
    steps.pop();
  };
  const walk = (shape: Shape, given: Json[] | JsonObject): void => {
    if (Array.isArray(given)) {
      if (shape.is === 'list')
        itemsWithout.check(shape.item, given, (item, index) => {
          const before = found;
          walkMember(shape.item, item, index);
          return found === before;
        });
    } else if (shape.is === 'map') {
      for (const key of Object.keys(given)) walkMember(shape.value, given[key] ?? null, key);
    } else if (shape.is === 'object') {
      for (const key of Object.keys(given)) {
        const known = shape.fields.get(key);
        if (known !== undefined) walkMember(known.shape, given[key] ?? null, key);
        else if (!shape.isOpen) {
          found += 1;
          const known = [...shape.fields.keys()];
          const meant = (): string | null => {
            const nearest = nearestKey(key, known);
            return nearest === null || nearest in given ? null : child(here(), nearest);
          };
          onUnknownKey(child(here(), key), () => keyHint(key, known), meant);
        }
      }
      for (const rule of rulesOf.get(shape.schema.def) ?? []) {
        rule(given, '', trial);
        if (trial.isEmpty) continue;
        found += 1;
        trial = new Findings();
        rule(given, here(), findings);
      }
    }
  };
  walk(shapeOf(schema), value);
}

/** Makes a copy without the keys that the schema does not have, as a plain PUT stores it (D7). */
export function knownPart(schema: z.ZodType, value: JsonObject): JsonObject {
  const known = (shape: Shape | undefined, given: Json): Json => {
    if (typeof given !== 'object' || given === null || shape === undefined) return given;
    if (Array.isArray(given)) return shape.is === 'list' ? given.map((item) => known(shape.item, item)) : given;
    const entries = Object.entries(given);
    if (shape.is === 'map') return Object.fromEntries(entries.map(([key, member]) => [key, known(shape.value, member)]));
    if (shape.is !== 'object') return given;
    const kept = entries.filter(([key]) => shape.isOpen || shape.fields.has(key));
    return Object.fromEntries(kept.map(([key, member]) => [key, known(shape.fields.get(key)?.shape, member)]));
  };
  return known(shapeOf(schema), value) as JsonObject;
}
