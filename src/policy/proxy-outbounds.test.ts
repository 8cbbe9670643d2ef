import { describe, expect, it } from 'vitest';
import { make, makeDataplane, makeService } from '../../test/policy/make-resource.ts';
import type { JsonObject, Labels, Resource } from '../resource/types.ts';
import { parseDataplane } from './dataplane-proxy.ts';
import { MeshIndex } from './mesh-index.ts';
import { outboundsOf } from './proxy-outbounds.ts';
import { describeRef, targetRefOf } from './target-ref.ts';

const services = [
  makeService('b'),
  makeService('a', { zone: 'east' }),
  makeService('c', { zone: 'west', labels: { 'kuma.io/kds-sync': 'disabled' } }),
  make('MeshExternalService', 'x', { match: { port: 443 } }),
  make('MeshHTTPRoute', 'r', {}),
];

function makeMesh(labels: Labels): Resource {
  return { ...make('Mesh', 'default', {}), mesh: '', name: 'default', labels };
}

function sectionsTo(networking: JsonObject, ofMesh: Labels = {}): string[] {
  const proxy = makeDataplane('d', { zone: 'east' }, networking);
  const index = new MeshIndex('default', [proxy, makeMesh(ofMesh), ...services]);
  const parsed = index.proxy(proxy.name);
  if (parsed === undefined) throw new Error('no proxy');
  return outboundsOf(index, parsed).map(({ resource, section, port }) => `${resource.name} ${section} ${String(port)}`);
}

const toB = { kind: 'MeshService', name: 'b' };

describe('the outbounds of a proxy', () => {
  it('are every port of every service that its zone has', () => {
    expect(sectionsTo({})).toEqual(['x 443 443', 'b 80 80', 'b admin 90', 'a.east 80 80', 'a.east admin 90']);
  });

  it('are those that it lists, each once, of one port where the reference names it', () => {
    expect(sectionsTo({ outbound: [{ backendRef: { ...toB, port: 80 } }, { backendRef: toB }] })).toEqual([
      'b 80 80',
      'b admin 90',
    ]);
    expect(sectionsTo({ outbound: [{ backendRef: { ...toB, port: 90 } }] })).toEqual(['b admin 90']);
    expect(sectionsTo({ outbound: [{ backendRef: { kind: 'MeshHTTPRoute', name: 'r' } }] })).toEqual([]);
    expect(sectionsTo({ outbound: [{ backendRef: { ...toB, port: 91 } }, { port: 1 }] })).toEqual([]);
  });

  it('are the reachable ones where it lists none', () => {
    const transparentProxying = { reachableBackends: { refs: [toB] } };
    expect(sectionsTo({ transparentProxying })).toEqual(['b 80 80', 'b admin 90']);
    expect(sectionsTo({ transparentProxying: { reachableBackends: {} } })).toEqual([]);
    expect(sectionsTo({ transparentProxying: {} })).toHaveLength(5);
    const listed = [{ backendRef: { kind: 'MeshExternalService', name: 'x' } }];
    expect(sectionsTo({ transparentProxying, outbound: listed })).toEqual(['x 443 443']);
  });

  it('are those that it lists and those that it reaches, with redirected connections', () => {
    const transparentProxying = { redirectPortOutbound: 15_001, reachableBackends: { refs: [{ ...toB, port: 80 }] } };
    const listed = [{ backendRef: { kind: 'MeshExternalService', name: 'x' } }, { backendRef: toB }];
    expect(sectionsTo({ transparentProxying, outbound: listed })).toEqual(['x 443 443', 'b 80 80', 'b admin 90']);
    expect(sectionsTo({ transparentProxying: { redirectPortOutbound: 15_001 }, outbound: listed })).toHaveLength(5);
  });

  it('are what the Mesh says where connections are redirected and the Dataplane names none', () => {
    const redirectPortOutbound = 15_001;
    const none = { 'meridian.io/reachable': 'none' };
    expect(sectionsTo({ transparentProxying: { redirectPortOutbound } }, none)).toEqual([]);
    expect(
      sectionsTo({ transparentProxying: { redirectPortOutbound } }, { ...none, 'reachable.meridian.io/east': 'all' }),
    ).toHaveLength(5);
    const reachableBackends = { refs: [{ ...toB, port: 80 }] };
    expect(sectionsTo({ transparentProxying: { redirectPortOutbound, reachableBackends } }, none)).toEqual(['b 80 80']);
    expect(sectionsTo({}, none)).toHaveLength(5);
  });

  it('are none for a zone proxy, and all for a gateway without inbounds', () => {
    const zoneIngress = { address: '10.0.0.1', port: 10001 };
    expect(sectionsTo({ inbound: [], zoneIngress })).toEqual([]);
    expect(sectionsTo({ zoneIngress })).toHaveLength(5);
    expect(sectionsTo({ inbound: [], gateway: { tags: {} } })).toHaveLength(5);
  });
});

describe('a Dataplane', () => {
  it('has its inbounds and listeners as sections, named by their port where they have no name', () => {
    const networking: JsonObject = {
      inbound: [{ port: 80, name: 'web', protocol: 'http', tags: { 'kuma.io/protocol': 'grpc' } }, { port: 81, tags: { 'kuma.io/protocol': 'grpc' } }, { port: 82 }], // oxfmt-ignore
      listeners: [
        { type: 'ZoneEgress', port: 1 },
        { type: 'ZoneIngress', port: 2 },
      ],
      ...{ zoneIngress: { port: 3 }, zoneEgress: { port: 4, name: 'out' } },
    };
    const { sections, gatewayTags } = parseDataplane(makeDataplane('d', {}, networking));
    expect(sections.map(({ kind, section, name, port, protocol }) => [kind, section, name, port, protocol])).toEqual([
      ['Inbound', 'web', 'web', 80, 'http'],
      ['Inbound', '81', '', 81, 'grpc'],
      ['Inbound', '82', '', 82, ''],
      ['ZoneEgress', '1', '', 1, ''],
      ['ZoneIngress', '2', '', 2, ''],
      ['ZoneIngress', '3', '', 3, ''],
      ['ZoneEgress', 'out', 'out', 4, ''],
    ]);
    expect(gatewayTags).toBeNull();
  });

  it('has each pair of its labels and tags once', () => {
    const inbound = [{ tags: { app: 'a', tier: 'x' } }, { tags: { app: 'b', tier: 'x' } }];
    const row = makeDataplane('d', { labels: { app: 'a' } }, { inbound, gateway: { tags: { tier: 'y' } } });
    const pairs = parseDataplane(row).pairs.filter(([key]) => !key.startsWith('kuma.io/'));
    expect(pairs.map((pair) => pair.join('=')).sort()).toEqual(['app=a', 'app=b', 'tier=x', 'tier=y']);
  });
});

describe('a targetRef', () => {
  it('means the mesh where it is missing, and reads anything', () => {
    expect(targetRefOf(undefined)).toEqual({
      ...{ kind: 'Mesh', name: '', namespace: '', labels: null, sectionName: '', tags: {}, proxyTypes: [] },
    });
    expect(targetRefOf({})).toMatchObject({ kind: '', labels: null });
    expect(targetRefOf({ kind: 'Mesh', labels: {}, proxyTypes: ['Sidecar', 1] })).toMatchObject({
      ...{ labels: null, proxyTypes: ['Sidecar', ''] },
    });
  });

  it.each<[JsonObject, string]>([
    [{ kind: 'Mesh' }, 'Mesh'],
    [{ kind: 'Dataplane', sectionName: 'web' }, 'Dataplane section web'],
    [toB, 'MeshService b'],
    [{ ...toB, namespace: 'shop', sectionName: 'web' }, 'MeshService b in namespace shop section web'],
    [{ ...toB, labels: { a: 'b', c: 'd' }, sectionName: 'web' }, 'MeshService with labels a=b, c=d section web'],
  ])('%j is described to people as %s', (ref, expected) => {
    expect(describeRef(targetRefOf(ref))).toBe(expected);
  });
});
