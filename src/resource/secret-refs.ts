// Where a document names Secrets of its mesh. Pure. Every schema that can name one does so by `secretRef`; only older forms of a
// MeshExternalService, which peers may send, have `secret` (policies 2.8).
import { isObject, textOf } from './read-json.ts';
import type { Json, JsonObject } from './types.ts';

/** @property field `spec.tls.verification.clientKey.secretRef.name` */
export type SecretRef = { readonly name: string; readonly field: string };

/** Sources that may have the older form. */
const OLDER: ReadonlySet<string> = new Set(['caCert', 'clientCert', 'clientKey']);

/** @param spec of any type */
export function secretRefsIn(spec: JsonObject): SecretRef[] {
  return [...refsIn(spec, 'spec', '')];
}

function* refsIn(value: Json, place: string, key: string): Generator<SecretRef> {
  if (Array.isArray(value)) for (const [at, item] of value.entries()) yield* refsIn(item, `${place}[${String(at)}]`, key);
  if (!isObject(value)) return;
  const { secretRef, secret } = value;
  const name = isObject(secretRef) ? textOf(secretRef['name']) : '';
  if (name !== '') yield { name, field: `${place}.secretRef.name` };
  const older = OLDER.has(key) ? textOf(secret) : '';
  if (older !== '') yield { name: older, field: `${place}.secret` };
  for (const [inner, member] of Object.entries(value)) yield* refsIn(member, `${place}.${inner}`, inner);
}
