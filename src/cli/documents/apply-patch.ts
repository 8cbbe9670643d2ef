// Applies the JSON Patch of a dry run (add, replace, remove) to the stored document.
import type { Json } from '../../resource/types.ts';
import type { Answer } from '../../answers/answers.ts';
import { isObject } from '../../resource/read-json.ts';

/** @returns the changed document; the input is not modified. @throws Error if a change does not fit it */
export function applyPatch(before: Json, changes: readonly Answer<'Change'>[]): Json {
  let root = structuredClone(before);
  for (const { op, path, value = null } of changes) {
    const keys = path.split('/').slice(1).map(unescape);
    const last = keys.pop();
    if (last === undefined) {
      root = value;
      continue;
    }
    const holder = keys.reduce<Json>((at, key) => below(at, key, path), root);
    if (Array.isArray(holder)) {
      if (op === 'add') holder.splice(last === '-' ? holder.length : Number(last), 0, value);
      else if (op === 'remove') holder.splice(Number(last), 1);
      else holder[Number(last)] = value;
    } else if (isObject(holder)) {
      if (op === 'remove') Reflect.deleteProperty(holder, last);
      else Object.defineProperty(holder, last, { value, enumerable: true, configurable: true, writable: true });
    } else throw new Error(`the difference changes ${path}, which is not there`);
  }
  return root;
}

function below(at: Json, key: string, path: string): Json {
  const found: Json | undefined = Array.isArray(at) ? at[Number(key)] : isObject(at) ? at[key] : undefined;
  if (found === undefined) throw new Error(`the difference changes ${path}, which is not there`);
  return found;
}

function unescape(key: string): string {
  return key.replaceAll('~1', '/').replaceAll('~0', '~');
}
