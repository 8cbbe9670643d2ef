// Keys of a protobuf spec that its message does not have: decoding drops them silently, and the CLI warns about them (D7). Compares
// the written document with the decoded one. Pure.
import type { Json } from '../../resource/types.ts';
import { isObject, objectOf } from '../../resource/read-json.ts';
import { memberPath } from '../../document/position.ts';

/** Paths of dropped keys with a value. Zero values and renamed snake_case keys do not count, because proto3 JSON omits and renames them. */
export function droppedKeys(written: Json, read: Json, path = ''): string[] {
  if (Array.isArray(written))
    return written.flatMap((item, index) => {
      const kept = Array.isArray(read) ? (read[index] ?? null) : null;
      return kept === null ? [] : droppedKeys(item, kept, memberPath(path, index));
    });
  if (!isObject(written) || !isObject(read)) return [];
  return Object.entries(written).flatMap(([key, value]) => {
    const at = memberPath(path, key);
    const kept = objectOf(read)[key] ?? objectOf(read)[camelCase(key)];
    if (kept === undefined) return isZero(value) ? [] : [at];
    return droppedKeys(value, kept, at);
  });
}

function camelCase(key: string): string {
  return key.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** First values of the enums of Dataplanes and zones. */
const ENUM_ZEROS = new Set(['Ready', 'DELEGATED', 'UnSpecified', 'Unspecified']);

/** A value that proto3 JSON may omit. */
function isZero(value: Json): boolean {
  if (typeof value === 'string' && ENUM_ZEROS.has(value)) return true;
  if (Array.isArray(value)) return value.length === 0;
  if (isObject(value)) return Object.values(value).every(isZero);
  return value === null || value === false || value === 0 || value === '' || value === '0';
}
