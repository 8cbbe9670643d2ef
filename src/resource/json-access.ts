// Reading JSON of unknown shape: missing values, or values of another kind, come back as undefined or empty. Nothing here throws.
import type { Json } from './types.ts';
import { isObject } from './read-json.ts';

/** The value behind a dotted path of own keys (`http.requestTimeout`). */
export function at(value: Json | undefined, path: string): Json | undefined {
  let found = value;
  for (const key of path.split('.')) found = isObject(found) && Object.hasOwn(found, key) ? found[key] : undefined;
  return found;
}

/** The text or number behind a dotted path, as text; `''` for anything else. */
export function textAt(value: Json | undefined, path: string): string {
  const found = at(value, path);
  return typeof found === 'string' || typeof found === 'number' ? String(found) : '';
}

/** The items of a list; none for anything else. */
export function items(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

/**
 * Whether a value is set to something: neither absent nor null, `""`, `[]` or `{}`, which a Kuma control plane cannot tell from
 * absent.
 */
export function isSet(value: Json | undefined): boolean {
  if (value === undefined || value === null || value === '') return false;
  return typeof value !== 'object' || Object.keys(value).length > 0;
}
