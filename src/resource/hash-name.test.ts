import { fc } from '../../test/support/property.ts';
import { describe, expect, it } from 'vitest';
import { fnv1a64, hashName, type HashInput } from './hash-name.ts';

describe('hashName', () => {
  it.each<[input: HashInput, fnv: string, result: string]>([
    [{ mesh: 'default', name: 'mesh-timeout-all-default' }, '6a4dff636d655c73', 'mesh-timeout-all-default-bv8z44b7bzb99xc7'],
    [{ mesh: 'default', name: 'backend', zone: 'zone-1' }, '84f22f14c313f636', 'backend-d8466458x7574b7b'],
    [
      { mesh: 'default', name: 'backend', zone: 'zone-1', namespace: 'kuma-demo' },
      '16090c8c32c3dccc',
      'backend-5b4f4xdx76x7zxxx',
    ],
    [
      { mesh: '', name: 'local-universal-mesh-service', zone: 'zone-1' },
      '2659efd6a78486fc',
      'local-universal-mesh-service-6b9f24zbvcd8db4x',
    ],
    [{ mesh: '', name: 'synced-universal-mesh-service' }, 'f2f4fa7d73e0a7e5', 'synced-universal-mesh-service-46484vczc724vc29'],
    [{ mesh: 'default', name: 'a'.repeat(240), zone: 'zone-1' }, 'e7d66048c76c8db2', `${'a'.repeat(236)}-2czbb48dxcbxdzw6`],
  ])('gives the names of kds-wire 5.5: %j', (input, fnv, result) => {
    const { mesh, name, zone = '', namespace = '' } = input;
    expect(fnv1a64(mesh + name + zone + namespace).toString(16)).toBe(fnv);
    expect(hashName(input)).toBe(result);
  });

  it.each<[input: HashInput, result: string]>([
    [{ mesh: 'default', name: 'redis-zone-1', zone: 'zone-1' }, 'redis-zone-1-2v6wfvvcvbc9f55d'],
    [{ mesh: 'default', name: 'default-timeout-global' }, 'default-timeout-global-54dbd4c66zwbcf9c'],
    [{ mesh: '', name: 'foo', zone: 'zone-1', namespace: 'custom-ns' }, 'foo-696vzv497z4cv4f4'],
  ])('gives the names of Kuma: %j', (input, result) => {
    expect(hashName(input)).toBe(result);
  });

  it('cuts the visible part at a whole character (engine 25)', () => {
    const visible = (name: string): string => hashName({ mesh: 'default', name }).slice(0, -17);
    expect(visible('é'.repeat(130))).toBe('é'.repeat(118));
    expect(visible(`a${'é'.repeat(130)}`)).toBe(`a${'é'.repeat(117)}`);
    expect(visible(`ab${'😀'.repeat(60)}`)).toBe(`ab${'😀'.repeat(58)}`);
  });

  it('hashes the full name, so that names with the same visible part differ', () => {
    const long = 'a'.repeat(240);
    expect(hashName({ mesh: 'default', name: `${long}1` })).not.toBe(hashName({ mesh: 'default', name: `${long}2` }));
  });

  it('stays within 253 bytes of UTF-8 for any input', () => {
    const text = fc.string({ unit: 'binary', maxLength: 400 });
    fc.assert(
      fc.property(text, text, (mesh, name) => {
        const hashed = hashName({ mesh, name });
        expect(Buffer.byteLength(hashed)).toBeLessThanOrEqual(253);
        expect(hashed).toMatch(/-[bcdfghjklmnpqrstvwxz2456789]{16}$/);
        expect(name.startsWith(hashed.slice(0, -17))).toBe(true);
      }),
    );
  });
});
