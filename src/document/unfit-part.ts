// Finds the part of a document that no control plane accepts for any type, so that the CLI can show its position. YAML aliases can
// form cycles, so the walk ends at the first such part. Pure.
import type { Violation } from '../base/errors.ts';
import { isStorable } from '../resource/storable-text.ts';
import { memberPath } from './position.ts';

/** The largest number of levels of objects and lists (D32). */
const MAX_DEPTH = 64;
export const TOO_DEEP = `must not be nested deeper than ${String(MAX_DEPTH)} levels`;
const NOT_FINITE = 'must be a finite number';
const NOT_JSON = 'must be a text, a number, true, false, null, a list or an object';
const UNSTORABLE = 'must have neither the character U+0000 nor half of a surrogate pair';

/** The first unfit part of a JSON value, or null. Excessive depth is reported for the whole value. */
export function unfitPart(value: unknown, field = '', depth = 0): Violation | null {
  if (typeof value === 'string' && !isStorable(value)) return { field, reason: UNSTORABLE };
  if (typeof value === 'number' && !Number.isFinite(value)) return { field, reason: NOT_FINITE };
  if (typeof value !== 'object' || value === null) return null;
  // YAML 1.1 has dates, sets and bytes.
  if (!Array.isArray(value) && Object.getPrototypeOf(value) !== Object.prototype) return { field, reason: NOT_JSON };
  if (depth >= MAX_DEPTH) return { field: '', reason: TOO_DEEP };
  for (const [key, inner] of Object.entries(value)) {
    if (key === '__proto__' || !isStorable(key)) return { field, reason: `must not have the key ${JSON.stringify(key)}` };
    const found = unfitPart(inner, memberPath(field, Array.isArray(value) ? Number(key) : key), depth + 1);
    if (found !== null) return found;
  }
  return null;
}
