import { beforeAll, expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import type { JsonObject } from '../resource/types.ts';
import { createAuthority } from './authority.ts';
import { trustBundles } from './trust-bundles.ts';

let pems: string[];
beforeAll(async () => {
  const made = await Promise.all(['a', 'b', 'c'].map((name) => createAuthority(name, new Date('2026-01-01T00:00:00Z'))));
  pems = made.map(({ certPem }) => certPem);
});

const trust = (trustDomain: string, ...values: string[]): { spec: JsonObject } => ({
  spec: { trustDomain, caBundles: values.map((value) => ({ type: 'Pem', pem: { value } })) },
});

it('names each trust domain and each certificate once, in any order of the MeshTrusts', () => {
  const item = fc.tuple(fc.constantFrom('x', 'y', 'z'), fc.array(fc.nat(2), { minLength: 1, maxLength: 3 }));
  fc.assert(
    fc.property(fc.array(item, { maxLength: 6 }), (items) => {
      const trusts = items.map(([domain, authorities]) => trust(domain, ...authorities.map((at) => pems[at] ?? '')));
      const bundles = trustBundles(trusts);
      expect(bundles).toEqual(trustBundles(trusts.toReversed()));
      expect(bundles.map(({ trustDomain }) => trustDomain)).toEqual([...new Set(items.map(([domain]) => domain))].sort());
      for (const { trustDomain, pem } of bundles) {
        const wanted = new Set(items.flatMap(([domain, authorities]) => (domain === trustDomain ? authorities : [])));
        expect(pem.match(/BEGIN CERTIFICATE/g)).toHaveLength(wanted.size);
      }
    }),
  );
});

it('leaves out what is no certificate', () => {
  const broken = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
  expect(trustBundles([trust('x', broken, 'text'), trust('', pems[0] ?? '')])).toEqual([]);
  expect(trustBundles([trust('x', `${broken}${pems[0] ?? ''}`)])).toEqual([{ trustDomain: 'x', pem: pems[0] }]);
});
