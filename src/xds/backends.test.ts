// Which ports of services the references of a route mean.
import { describe, expect, it } from 'vitest';
import { make } from '../../test/policy/make-resource.ts';
import { MeshIndex } from '../policy/mesh-index.ts';
import { outboundsTo, type Outbound } from '../policy/outbounds.ts';
import type { JsonObject, Resource } from '../resource/types.ts';
import { BackendResolver } from './backends.ts';

const ports = [{ port: 80 }, { port: 81, name: 'admin' }];
const EAST = { zone: 'east' };
const cart = make('MeshService', 'cart', { ports }, EAST);
const bank = make('MeshExternalService', 'bank', { match: { type: 'HostnameGenerator', port: 443, protocol: 'tcp' } });
const FROM = { mesh: 'default', zone: 'east', namespace: '' };

function resolverOf(...rows: Resource[]): { resolver: BackendResolver; self: Outbound } {
  const index = new MeshIndex('default', [cart, bank, ...rows]);
  const [self] = outboundsTo(index, cart);
  if (self === undefined) throw new Error('the service has no port');
  return { resolver: new BackendResolver(index, 'east'), self };
}
const ref = (more: JsonObject = {}): JsonObject => ({ kind: 'MeshService', name: 'cart', ...more });

describe('a reference', () => {
  it.each<[JsonObject, string | undefined]>([
    [ref({ port: 80 }), '80'],
    [ref({ port: 81 }), 'admin'],
    [ref({ sectionName: 'admin' }), 'admin'],
    [ref({ sectionName: 'admin', port: 80 }), 'admin'],
    [ref({ port: 82 }), undefined],
    [ref({ sectionName: 'other' }), undefined],
    [ref(), undefined],
    [ref({ name: 'none', port: 80 }), undefined],
    [{ kind: 'MeshExternalService', name: 'bank' }, '443'],
  ])('%j means the port %s', (given, section) => {
    expect(resolverOf().resolver.find(given, FROM)?.section).toBe(section);
  });

  it('to several services means the oldest', () => {
    const aged = (name: string, age: number): Resource => ({
      ...make('MeshService', name, { ports }, { ...EAST, labels: { team: 'shop' } }),
      creationTime: new Date(age),
    });
    const { resolver } = resolverOf(aged('second', 2), aged('the-first', 1), aged('a-third', 3));
    const found = resolver.find({ kind: 'MeshService', labels: { team: 'shop' }, port: 80 }, FROM);
    expect(found?.kri).toBe('kri_msvc_default_east__the-first_80');
  });
});

describe('the backends of a rule', () => {
  it.each<[what: string, refs: JsonObject[], backends: [string, number][], missingPercent: number]>([
    ['the destination itself without a reference', [], [['80', 1]], 0],
    ['a weight of one where none is given', [ref({ port: 81 })], [['admin', 1]], 0],
    ['all with a weight', [ref({ port: 80, weight: 3 }), ref({ port: 81, weight: 0 })], [['80', 3]], 0],
    [
      'without those that mean nothing, whose share is missing',
      [ref({ port: 80, weight: 3 }), ref({ port: 99, weight: 1 })],
      [['80', 3]],
      25,
    ],
    ['nothing where no backend has a weight', [ref({ port: 80, weight: 0 })], [], 100],
  ])('are %s', (_, backendRefs, backends, missingPercent) => {
    const { resolver, self } = resolverOf();
    const found = resolver.all({ backendRefs }, FROM, self);
    expect(found.backends.map(({ outbound, weight }) => [outbound.section, weight])).toEqual(backends);
    expect(found.missingPercent).toBe(missingPercent);
  });

  it('have the mirrors of RequestMirror filters, and of no other', () => {
    const mirror = (port: number, type = 'RequestMirror'): JsonObject => ({
      ...{ type, requestMirror: { backendRef: ref({ port }), percentage: 5 } },
    });
    const filters = [mirror(81), mirror(99), mirror(80, 'URLRewrite'), { type: 'RequestRedirect', requestRedirect: {} }];
    const found = resolverOf().resolver.mirrors({ filters }, FROM);
    expect(found.map(({ outbound, percentage }) => [outbound.section, percentage])).toEqual([['admin', 5]]);
  });
});
