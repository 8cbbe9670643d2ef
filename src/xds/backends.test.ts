// Which ports of services the references of a route mean.
import { describe, expect, it } from 'vitest';
import { make } from '../../test/policy/make-resource.ts';
import { MeshIndex } from '../policy/mesh-index.ts';
import { outboundsTo, type Outbound } from '../policy/outbounds.ts';
import type { BackendRef, RouteFilter, ServiceRef } from '../policies/routes.ts';
import type { Resource } from '../resource/types.ts';
import { BackendResolver } from './backends.ts';

const ports = [{ port: 80 }, { port: 81, name: 'admin' }];
const EAST = { zone: 'east' };
const cart = make('MeshService', 'cart', { ports }, EAST);
const rack = make('MeshService', 'rack', { ports: [{ port: 8080, name: 'web' }] }, EAST);
const everywhere = make('MeshMultiZoneService', 'everywhere', { ports: [{ port: 80, name: 'http' }] });
const twice = make('MeshMultiZoneService', 'twice', { ports });
const bank = make('MeshExternalService', 'bank', { match: { type: 'HostnameGenerator', port: 443, protocol: 'tcp' } });
const FROM = { mesh: 'default', zone: 'east', namespace: '' };

function resolverOf(...rows: Resource[]): { resolver: BackendResolver; self: Outbound } {
  const index = new MeshIndex('default', [cart, rack, everywhere, twice, bank, ...rows]);
  const [self] = outboundsTo(index, cart);
  if (self === undefined) throw new Error('the service has no port');
  return { resolver: new BackendResolver(index, 'east'), self };
}
const ref = (more: Partial<BackendRef> = {}) => ({ kind: 'MeshService', name: 'cart', weight: 1, ...more });

describe('a reference', () => {
  it.each<[ServiceRef, string | undefined]>([
    [ref({ port: 80 }), '80'],
    [ref({ port: 81 }), 'admin'],
    [ref({ sectionName: 'admin' }), 'admin'],
    [ref({ sectionName: 'admin', port: 80 }), 'admin'],
    [ref({ port: 82 }), undefined],
    [ref({ sectionName: 'other' }), undefined],
    [ref(), undefined],
    [ref({ name: 'none', port: 80 }), undefined],
    [ref({ name: 'rack' }), 'web'],
    [ref({ name: 'rack', port: 80 }), undefined],
    [{ kind: 'MeshService', labels: { 'kuma.io/display-name': 'rack' } }, 'web'],
    [{ kind: 'MeshMultiZoneService', name: 'everywhere' }, 'http'],
    [{ kind: 'MeshMultiZoneService', name: 'twice' }, undefined],
    [{ kind: 'MeshExternalService', name: 'bank' }, '443'],
    [{ kind: 'MeshExternalService', name: 'bank', port: 80 }, undefined],
  ])('%j means the port %s', (given, section) => {
    expect(resolverOf().resolver.find(given, FROM)?.section).toBe(section);
  });

  it.each<[ServiceRef, string]>([
    [ref(), 'MeshService cart has 2 ports, so port must be one of 80, 81'],
    [ref({ port: 82 }), 'MeshService cart has no port 82'],
    [ref({ sectionName: 'other' }), 'MeshService cart has no port other'],
    [ref({ name: 'none' }), 'MeshService none does not exist'],
    [ref({ name: 'many' }), 'MeshService many has 6 ports, so port must be one of 1, 2, 3, 4, 5 and others'],
    [ref({ name: 'empty' }), 'MeshService empty has no port'],
  ])('%j means none, because %s', (given, reason) => {
    const many = make('MeshService', 'many', { ports: [1, 2, 3, 4, 5, 6].map((port) => ({ port })) }, EAST);
    const { resolver } = resolverOf(many, make('MeshService', 'empty', {}, EAST));
    expect(resolver.whyNone(given, FROM)).toBe(reason);
    expect(resolver.find(given, FROM)).toBeUndefined();
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
  it.each<[what: string, refs: BackendRef[], backends: [string, number][], missingPercent: number]>([
    ['the destination itself without a reference', [], [['80', 1]], 0],
    ['a weight of one, which its schema gives', [ref({ port: 81 })], [['admin', 1]], 0],
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

  it('of a MeshHTTPRoute are ports of HTTP: the share of the others is missing', () => {
    const web = make('MeshService', 'web', { ports: [{ port: 80, appProtocol: 'grpc' }] }, EAST);
    const { resolver, self } = resolverOf(web);
    const backendRefs = [ref({ name: 'web', weight: 3 }), { kind: 'MeshExternalService', name: 'bank', weight: 1 }];
    const shareOf = (type: string): number => resolver.all({ backendRefs }, { ...FROM, type }, self).missingPercent;
    expect([shareOf('MeshHTTPRoute'), shareOf('MeshTCPRoute')]).toEqual([25, 0]);
  });

  it('have the mirrors of RequestMirror filters, and of no other', () => {
    const mirror = (port: number, type: RouteFilter['type'] = 'RequestMirror'): RouteFilter => ({
      ...{ type, requestMirror: { backendRef: { kind: 'MeshService', name: 'cart', port, weight: 1 }, percentage: 5 } },
    });
    const redirect: RouteFilter = { type: 'RequestRedirect', requestRedirect: { statusCode: 302 } };
    const filters = [mirror(81), mirror(99), mirror(80, 'URLRewrite'), redirect];
    const found = resolverOf().resolver.mirrors({ filters, backendRefs: [] }, FROM);
    expect(found.map(({ outbound, share }) => [outbound.section, share])).toEqual([['admin', 5]]);
  });
});
