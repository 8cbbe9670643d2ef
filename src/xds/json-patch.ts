// JSON Patch (RFC 6902) on JSON that is left as it was. Names of fields may be written as in proto files: `/connect_timeout` finds
// `connectTimeout`.
import { isObject } from '../resource/read-json.ts';
import type { JsonPatch } from '../policies/mesh-proxy-patch/spec.ts';
import type { Json, JsonObject } from '../resource/types.ts';

/** An operation that does not fit the document; the message says why. */
export class JsonPatchError extends Error {}

/** A key that would reach the prototype. */
const FORBIDDEN = '__proto__';
/** Characters of JSON that a document may reach by copies: each can double it. */
const MAX_COPIED = 262_144;

/**
 * The document after all operations.
 * @throws JsonPatchError where an operation does not fit
 */
export function applyJsonPatch(document: Json, operations: readonly JsonPatch[]): Json {
  let root = structuredClone(document);
  for (const { op, path, value: given, from } of operations) {
    const to = pointer(path);
    // Any value of JSON is one.
    const value = structuredClone(given ?? null) as Json;
    switch (op) {
      case 'add':
        root = add(root, to, value);
        break;
      case 'remove':
        root = remove(root, to);
        break;
      case 'replace':
        get(root, to);
        root = to.length === 0 ? value : add(remove(root, to), to, value);
        break;
      case 'copy': {
        const copied = get(root, pointer(from));
        if (JSON.stringify(root).length + JSON.stringify(copied).length > MAX_COPIED)
          throw new JsonPatchError(`a copy makes it larger than ${String(MAX_COPIED)} characters`);
        root = add(root, to, structuredClone(copied));
        break;
      }
      case 'move': {
        const moved = structuredClone(get(root, pointer(from)));
        root = add(remove(root, pointer(from)), to, moved);
        break;
      }
    }
  }
  return root;
}

function pointer(given: string | undefined): string[] {
  if (given === '') return [];
  if (given === undefined || !given.startsWith('/'))
    throw new JsonPatchError(`${JSON.stringify(given ?? null)} is no JSON pointer: begin with "/"`);
  const keys = given
    .slice(1)
    .split('/')
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
  if (keys.includes(FORBIDDEN)) throw new JsonPatchError(`${given} names no field of Envoy's API`);
  return keys;
}

function get(root: Json, keys: readonly string[]): Json {
  let found = root;
  for (const [depth, key] of keys.entries()) {
    const inner = innerOf(found, key);
    if (inner === undefined) throw new JsonPatchError(`there is no ${shown(keys.slice(0, depth + 1))}`);
    found = inner;
  }
  return found;
}

function innerOf(value: Json, key: string): Json | undefined {
  if (Array.isArray(value)) return value[indexOf(key, value.length - 1)];
  const name = isObject(value) ? keyIn(value, key) : key;
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function add(root: Json, keys: readonly string[], value: Json): Json {
  const key = keys.at(-1);
  if (key === undefined) return value;
  const parent = get(root, keys.slice(0, -1));
  if (Array.isArray(parent)) {
    const index = key === '-' ? parent.length : indexOf(key, parent.length);
    if (index < 0) throw new JsonPatchError(`there is no place ${shown(keys)} in the list`);
    parent.splice(index, 0, value);
  } else if (isObject(parent)) parent[keyIn(parent, key)] = value;
  else throw new JsonPatchError(`${shown(keys.slice(0, -1))} is neither an object nor a list`);
  return root;
}

function remove(root: Json, keys: readonly string[]): Json {
  const key = keys.at(-1);
  if (key === undefined) throw new JsonPatchError('the whole resource cannot be removed');
  get(root, keys);
  const parent = get(root, keys.slice(0, -1));
  if (Array.isArray(parent)) parent.splice(Number(key), 1);
  else if (isObject(parent)) Reflect.deleteProperty(parent, keyIn(parent, key));
  return root;
}

/** -1 for what is no index up to `last`. */
function indexOf(key: string, last: number): number {
  return /^(0|[1-9]\d{0,8})$/.test(key) && Number(key) <= last ? Number(key) : -1;
}

function keyIn(object: JsonObject, key: string): string {
  if (Object.hasOwn(object, key)) return key;
  const inJson = key.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
  return Object.hasOwn(object, inJson) ? inJson : key;
}

function shown(keys: readonly string[]): string {
  return `/${keys.map((key) => key.replaceAll('~', '~0').replaceAll('/', '~1')).join('/')}`;
}
