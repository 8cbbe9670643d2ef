import { describe, expect, it } from 'vitest';
import { label } from './labels.ts';
import { kumaSni, serviceSni, sni } from './sni.ts';

const long = 'a'.repeat(63);

describe('sni (policies 9.2)', () => {
  it.each([
    ['backend', 'demo', 8080, 'MeshService', undefined, 'ae10a8071b8a8eeb8.backend.8080.demo.ms'],
    ['redis.kuma-demo', 'default', 6739, 'MeshService', undefined, 'a64067518fe826e27.redis.kuma-demo.6739.default.ms'],
    ['external-api', 'default', 443, 'MeshExternalService', undefined, 'a2f04699781580616.external-api.443.default.mes'],
    ['backend', 'demo', 8080, 'MeshMultiZoneService', undefined, 'ae10a8071b8a8eeb8.backend.8080.demo.mzms'],
    [long, 'default', 80, 'MeshService', undefined, `a11ccd33a27dc8e71.${'a'.repeat(62)}x.80.default.ms`],
    ['backend', 'demo', 8080, 'MeshService', { x: 'a' }, 'a333a125865a97632.backend.8080.demo.ms'],
  ] as const)('%s of mesh %s, port %i, %s, extras %o', (name, mesh, port, type, extras, expected) => {
    expect(sni({ type, name, mesh, port, ...(extras !== undefined && { extras }) })).toBe(expected);
  });

  it('gives the name of MADR 095 for an external service', () => {
    expect(sni({ type: 'MeshExternalService', name: 'backend', mesh: 'demo', port: 8080 })).toBe(
      'ae10a8071b8a8eeb8.backend.8080.demo.mes',
    );
  });

  it('keeps 62 bytes uncut, sorts the extras and pads the hash', () => {
    const mesh = 'm'.repeat(62);
    expect(sni({ type: 'MeshService', name: 'a', mesh, port: 1 })).toMatch(new RegExp(`^a[0-9a-f]{16}\\.a\\.1\\.${mesh}\\.ms$`));
    const first = sni({ type: 'MeshService', name: 'a', mesh: 'm', port: 1, extras: { b: '2', a: '1' } });
    expect(sni({ type: 'MeshService', name: 'a', mesh: 'm', port: 1, extras: { a: '1', b: '2' } })).toBe(first);
  });
});

describe('serviceSni', () => {
  const redis = { type: 'MeshService', mesh: 'default', name: 'redis.kuma-demo' };
  const labels = { [label.displayName]: 'redis', [label.namespace]: 'kuma-demo' };
  const expected = 'a64067518fe826e27.redis.kuma-demo.6739.default.ms';

  it('is the same in the zone of the service, on global and in the other zones', () => {
    expect(serviceSni({ ...redis, labels: { ...labels, [label.origin]: 'zone' } }, 6739)).toBe(expected);
    const copy = { ...redis, name: 'redis-5b4f4xdx76x7zxxx' };
    expect(serviceSni({ ...copy, labels: { ...labels, [label.origin]: 'zone', [label.zone]: 'east' } }, 6739)).toBe(expected);
    expect(serviceSni({ ...copy, labels: { ...labels, [label.origin]: 'global', [label.zone]: 'east' } }, 6739)).toBe(expected);
  });

  it('omits the system namespace of a copy', () => {
    const copy = { ...redis, labels: { ...labels, [label.namespace]: 'kuma-system', [label.origin]: 'global' } };
    expect(serviceSni(copy, 6739)).toMatch(/^a[0-9a-f]{16}\.redis\.6739\.default\.ms$/);
  });

  it('has only the display name of external and multi-zone services', () => {
    const row = {
      mesh: 'default',
      name: 'external-api-6b9f24zbvcd8db4x',
      labels: { ...labels, [label.displayName]: 'external-api' },
    };
    expect(serviceSni({ ...row, type: 'MeshExternalService' }, 443)).toBe('a2f04699781580616.external-api.443.default.mes');
    expect(serviceSni({ ...row, type: 'MeshMultiZoneService' }, 443)).toMatch(/\.external-api\.443\.default\.mzms$/);
  });

  it('is null for types other than services', () => {
    expect(serviceSni({ type: 'Mesh', mesh: '', name: 'default', labels: {} }, 80)).toBeNull();
  });
});

describe('kumaSni', () => {
  const place = { [label.zone]: 'k1', [label.namespace]: 'ns', [label.displayName]: 'cart' };
  it.each([
    ['MeshService', 'cart-x', { ...place, [label.namespace]: '' }, 'web', 'sni.msvc.shop.k1.cart.web'],
    ['MeshService', 'cart-x', place, '90', 'sni.msvc.shop.k1.ns.cart.90'],
    ['MeshMultiZoneService', 'cart', {}, '80', 'sni.mzsvc.shop.cart.80'],
    ['MeshExternalService', 'ext-x', { [label.displayName]: 'ext' }, '443', 'sni.extsvc.shop.ext.443'],
    ['MeshExternalService', 'ext-x', place, '443', 'sni.extsvc.shop.k1.ns.cart.443'],
    ['MeshTimeout', 'cart', {}, '80', null],
  ] as const)('%s %s with %o, port %s', (type, name, labels, section, expected) => {
    expect(kumaSni({ type, mesh: 'shop', name, labels }, section)).toBe(expected);
  });
});
