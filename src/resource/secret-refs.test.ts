// No schema can name a Secret in a way that is overlooked: who writes a document needs the right to the Secrets in it.
import { expect, it } from 'vitest';
import { isObject } from './read-json.ts';
import { specJsonSchema } from '../validation/spec-json-schema.ts';
import { secretRefsIn } from './secret-refs.ts';
import { resourceTypes } from './type-registry.ts';
import type { Json } from './types.ts';

it('finds the names at every depth, in the older form too, with their fields', () => {
  const spec = {
    tls: { verification: { caCert: { secret: 'a' }, clientKey: { type: 'Secret', secretRef: { kind: 'Secret', name: 'b' } } } },
    list: [{ privateKey: { secretRef: { name: 'c' } } }],
    other: { secret: 'no name of a Secret', secretRef: 'no reference' },
  };
  expect(secretRefsIn(spec)).toEqual([
    { name: 'a', field: 'spec.tls.verification.caCert.secret' },
    { name: 'b', field: 'spec.tls.verification.clientKey.secretRef.name' },
    { name: 'c', field: 'spec.list[0].privateKey.secretRef.name' },
  ]);
  expect(secretRefsIn({})).toEqual([]);
});

/** The properties of a schema whose names are about secrets. */
function aboutSecrets(schema: Json, key = ''): string[] {
  if (Array.isArray(schema)) return schema.flatMap((one) => aboutSecrets(one));
  if (!isObject(schema)) return [];
  return Object.entries(schema).flatMap(([name, inner]) => [
    ...(key === 'properties' && /secret/i.test(name) ? [name] : []),
    ...aboutSecrets(inner, name),
  ]);
}

it('is complete: in the schemas of all types a Secret is named by secretRef alone', () => {
  const found = resourceTypes.flatMap(({ name }) => aboutSecrets(specJsonSchema(name)).map((property) => `${name} ${property}`));
  expect([...new Set(found)].sort()).toEqual(['MeshExternalService secretRef', 'MeshIdentity secretRef']);
});
