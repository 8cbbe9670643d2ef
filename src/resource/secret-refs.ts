// The places where a document names Secrets of its mesh. Pure. Every schema that can name one does so by `secretRef`; only older
// forms of a MeshExternalService, which peers may send, have `secret` (policies 2.8).
import { MIN_ITEMS } from '../base/long-lists.ts';
import { perObject } from '../base/per-object.ts';
import { isObject, textOf } from './read-json.ts';
import type { Json, JsonObject } from './types.ts';

/** @property field the field, such as `spec.tls.verification.clientKey.secretRef.name` */
export type SecretRef = { readonly name: string; readonly field: string };

/** Sources that may have the older form. */
const OLDER: ReadonlySet<string> = new Set(['caCert', 'clientCert', 'clientKey']);

/** The references of a spec of any type. */
export function secretRefsIn(spec: JsonObject): SecretRef[] {
  return refsIn(spec, 'spec');
}

function refsIn(value: Json, place: string): SecretRef[] {
  const found: SecretRef[] = [];
  addRefs(found, value, place, '');
  return found;
}

/** The references of an item of a long list, with fields below it. The item is the same object in all versions of a document. */
const refsOfItem = perObject((item: JsonObject): readonly SecretRef[] => refsIn(item, ''));

/** Items of a long list are many, and most have no reference: nothing is made for these. */
function addRefs(found: SecretRef[], value: Json, place: string, key: string): void {
  if (Array.isArray(value)) {
    const isKept = value.length >= MIN_ITEMS && key !== '' && !OLDER.has(key);
    for (let at = 0; at < value.length; at += 1) {
      const item = value[at] ?? null;
      if (!isKept || !isObject(item) || !Object.isFrozen(item)) addRefs(found, item, `${place}[${String(at)}]`, key);
      else for (const { name, field } of refsOfItem(item)) found.push({ name, field: `${place}[${String(at)}]${field}` });
    }
  }
  if (!isObject(value)) return;
  const { secretRef, secret } = value;
  const name = isObject(secretRef) ? textOf(secretRef['name']) : '';
  if (name !== '') found.push({ name, field: `${place}.secretRef.name` });
  const older = OLDER.has(key) ? textOf(secret) : '';
  if (older !== '') found.push({ name: older, field: `${place}.secret` });
  for (const [inner, member] of Object.entries(value)) addRefs(found, member, `${place}.${inner}`, inner);
}
