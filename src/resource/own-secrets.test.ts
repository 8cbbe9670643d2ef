import { expect, it } from 'vitest';
import { ownSecretPurpose, relatedToSecret } from './own-secrets.ts';

const TOKENS = 'it is for the tokens of Dataplanes';
const IDENTITY = 'it is for the MeshIdentity shop';

it.each<[name: string, rows: string[], purpose: string | null]>([
  ['dataplane-token-signing-key-default', [], TOKENS],
  ['dataplane-token-signing-key-default-7', [], TOKENS],
  ['dataplane-token-revocations-default', [], TOKENS],
  ['dataplane-token', [], null],
  ['default.ca-builtin-key-ca-1', [], 'it is for the authority of the Mesh'],
  ['shop-private-key', [], null],
  ['shop-private-key', ['MeshIdentity shop'], IDENTITY],
  ['shop-private-key', ['MeshIdentity other'], null],
  // The MeshIdentity is gone, and its authority is still trusted.
  ['shop-private-key', ['Secret shop-root-ca'], IDENTITY],
  ['shop-root-ca', ['Secret shop-private-key'], IDENTITY],
  ['shop-root-ca', ['Secret shop-root-ca'], null],
  ['shop-root-ca', ['Secret shop-in-force'], IDENTITY],
  ['shop-rotation', ['Secret shop-rotation'], null],
  ['shop-rotation', ['Secret shop-private-key', 'Secret shop-root-ca'], IDENTITY],
  ['shop-in-force', ['MeshIdentity shop'], IDENTITY],
  ['-private-key', ['MeshIdentity '], null],
])('%s beside %j: %s', (name, rows, purpose) => {
  const asked = new Set(relatedToSecret('m', name).map((key) => `${key.type} ${key.name}`));
  const has = (type: string, other: string): boolean => {
    expect([...asked]).toContain(`${type} ${other}`);
    return rows.includes(`${type} ${other}`);
  };
  expect(ownSecretPurpose(name, has)).toBe(purpose);
});
