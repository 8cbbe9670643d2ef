import { describe, expect, it } from 'vitest';
import { decodeKumaResource, type WireResource } from '../../resource/codec.ts';
import { typeOf } from '../../resource/type-registry.ts';
import { decodeDeltaResponse } from '../../wire/kds-messages.ts';
import { EncodedEntry, formFor, WithheldEntry, type Encoding, type Form, type Withheld } from './entry.ts';

const info = typeOf('MeshTimeout');
const timeout = (spec: WireResource['spec']): WireResource => ({
  ...{ name: 'slow-hash', mesh: 'shop', labels: {}, spec, status: undefined },
});
const entryOf = (spec: WireResource['spec']): EncodedEntry => new EncodedEntry(info, timeout(spec), 'slow', { to: 'all' });
const nameIn = (encoding: Encoding | Withheld): string => {
  if ('withheld' in encoding) return encoding.withheld;
  const [resource] = decodeDeltaResponse(encoding.bytes).resources;
  return resource === undefined ? '' : decodeKumaResource(info, resource.resource).name;
};

it.each<[string[], 'global' | 'zone', Form]>([
  [['meridian-v1'], 'global', 'native'],
  [['meridian-v1', 'hash-suffix'], 'zone', 'native'],
  [['hash-suffix'], 'global', 'kuma'],
  [[], 'global', 'legacy'],
  [[], 'zone', 'kuma'],
])('a peer with the features %j gets what comes from a %s in the form %s', (features, from, form) => {
  expect(formFor(new Set(features), from)).toBe(form);
});

describe('an encoded resource', () => {
  const target = { targetRef: { kind: 'Mesh' } };

  it('is the same bytes for a Meridian peer and for a Kuma peer that can read all of it', () => {
    const entry = entryOf(target);
    expect(entry.in('native')).toBe(entry);
    expect(entry.in('kuma')).toBe(entry);
    expect(nameIn(entry)).toBe('slow-hash');
  });

  it('has its name without a hash for a peer that knows no hashes, encoded once', () => {
    const entry = entryOf(target);
    const legacy = entry.in('legacy');
    expect(nameIn(legacy)).toBe('slow');
    expect(entry.in('legacy')).toBe(legacy);
    expect((legacy as Encoding).version).not.toBe(entry.version);
  });

  it('is withheld from Kuma peers alone where they cannot read it', () => {
    const entry = entryOf({ targetRef: 5 });
    expect(entry.in('native')).toBe(entry);
    for (const form of ['kuma', 'legacy'] as const) {
      expect(entry.in(form)).toEqual({ withheld: expect.stringContaining('targetRef') as string });
      expect(entry.in(form)).toBe(entry.in(form));
    }
  });

  it('that cannot be encoded is withheld from all', () => {
    const entry = new WithheldEntry({ to: 'all' }, 'too odd');
    expect(entry).toMatchObject({ visibility: { to: 'all' }, version: 'withheld: too odd' });
    expect(entry.in()).toEqual({ withheld: 'too odd' });
  });
});
