// The status of a service: its proxies and the services behind it.
import { describe, expect, it } from 'vitest';
import { makeRow } from '../../../test/support/make-row.ts';
import type { JsonObject } from '../../resource/types.ts';
import type { DataplaneFacts, Inbound } from './dataplane-facts.ts';
import {
  countProxies,
  externalServiceRow,
  meshServiceRow,
  multiZoneServiceRow,
  multiZoneStatus,
  type LocalParts,
} from './service-row.ts';

const inbound: Inbound = { name: '', port: 80, protocol: 'http', tags: {}, state: 'Ready' };

function dataplane(name: string, inbounds: readonly Inbound[]): DataplaneFacts {
  const places = { ingress: null, egress: null };
  const left = { ingress: [], egress: [] };
  return { name, displayName: name, created: 0, labels: {}, inbounds, ingress: null, egress: null, places, left };
}

it('a service counts no Dataplane without an inbound, such as a gateway', () => {
  const selected = [dataplane('gateway', []), dataplane('web', [inbound])];
  expect(countProxies({ ports: [{ port: 80 }] }, selected, () => true)).toEqual({ total: 1, connected: 1, healthy: 1 });
  expect(countProxies({}, [dataplane('gateway', [])], () => true)).toEqual({ total: 0, connected: 0, healthy: 0 });
});

it('a service without a zone label counts for the own zone, in the order of names and zones', () => {
  const services = [
    { name: 'web', mesh: 'default', labels: { 'kuma.io/zone': 'west' } },
    { name: 'web', mesh: 'default', labels: {} },
  ];
  expect(multiZoneStatus(services, 'east').meshServices).toMatchObject([
    { name: 'web', zone: 'east' },
    { name: 'web', zone: 'west' },
  ]);
});

it('the services of a MeshMultiZoneService are in the order of name, namespace, zone and mesh, in any order of arrival', () => {
  const of = (name: string, namespace: string, zone: string, mesh: string): Parameters<typeof multiZoneStatus>[0][number] => ({
    ...{ name: 'stored', mesh },
    labels: { 'kuma.io/display-name': name, 'k8s.kuma.io/namespace': namespace, 'kuma.io/zone': zone },
  });
  const services = [
    of('a', 'n', 'w', 'y'),
    of('a', 'n', 'x', 'm'),
    of('a', 'n', 'x', 'n'),
    of('a', 'o', 'a', 'a'),
    of('b', 'a', 'a', 'a'),
  ];
  const { meshServices, conditions } = multiZoneStatus(services, 'east');
  expect(meshServices).toEqual([
    { name: 'a', namespace: 'n', zone: 'w', mesh: 'y' },
    { name: 'a', namespace: 'n', zone: 'x', mesh: 'm' },
    { name: 'a', namespace: 'n', zone: 'x', mesh: 'n' },
    { name: 'a', namespace: 'o', zone: 'a', mesh: 'a' },
    { name: 'b', namespace: 'a', zone: 'a', mesh: 'a' },
  ]);
  for (let shift = 1; shift < services.length; shift += 1) {
    const turned = [...services.slice(shift), ...services.slice(0, shift)].reverse();
    expect(multiZoneStatus(turned, 'east').meshServices).toEqual(meshServices);
  }
  expect(conditions).toEqual([{ type: 'MeshServicesMatched', status: 'True', reason: 'MatchesFound', message: '' }]);
  expect(multiZoneStatus([], 'east').conditions).toMatchObject([{ status: 'False', reason: 'NoMatchesFound' }]);
});

it('a proxy is healthy where each port of the service has a ready inbound, by number or name', () => {
  const ready = { ...inbound, port: 80 };
  const admin = { ...inbound, port: 90, name: 'admin' };
  const health = (ports: JsonObject[], inbounds: readonly Inbound[], isOnline = true): number[] => {
    const { total, connected, healthy } = countProxies({ ports }, [dataplane('d', inbounds)], () => isOnline);
    return [total, connected, healthy];
  };
  expect(health([{ port: 80 }], [ready])).toEqual([1, 1, 1]);
  expect(health([{ port: 80 }], [ready], false)).toEqual([1, 0, 1]);
  expect(health([{ port: 1, targetPort: 80 }], [ready])).toEqual([1, 1, 1]);
  expect(health([{ port: 1, targetPort: 'admin' }], [admin])).toEqual([1, 1, 1]);
  expect(health([{ port: 80 }, { port: 90 }], [ready])).toEqual([1, 1, 0]);
  expect(health([{ port: 80 }, { port: 90 }], [ready, admin])).toEqual([1, 1, 1]);
  expect(health([{ port: 80 }], [{ ...ready, state: 'NotReady' }])).toEqual([1, 1, 0]);
  expect(health([], [{ ...ready, state: 'NotReady' }])).toEqual([1, 1, 1]);
});

describe('the computed part of a service', () => {
  const other = { hostname: 'by-hand', origin: 'Kubernetes' };
  const own = { hostname: 'cart.mesh', origin: 'HostnameGenerator' };
  const old = { hostname: 'old.mesh', origin: 'HostnameGenerator' };
  const generator = { hostnameGeneratorRef: { coreName: 'g' } };
  const parts = { vip: '240.0.0.1', hostnames: { addresses: [own], hostnameGenerators: [generator] } };
  const nothing = { vip: '', hostnames: { addresses: [], hostnameGenerators: [] } };
  const stored = { addresses: [other, old], hostnameGenerators: [generator], kept: true };
  const computed = { addresses: [other, own], hostnameGenerators: [generator], kept: true };

  it('of an external service has one address, and its egress where it is called by a port', () => {
    const row = makeRow('MeshExternalService', 'pay', { spec: { match: { port: 443 } }, status: stored });
    const egress = { address: '10.0.0.9', port: 10_002 };
    expect(externalServiceRow(row, parts, { egress: null, hasHashedSni: true })).toEqual({
      ...row,
      status: { ...computed, vip: { ip: '240.0.0.1' } },
    });
    const sniOf = (hasHashedSni: boolean): unknown => {
      const { zoneEgress, ...status } = externalServiceRow(row, parts, { egress, hasHashedSni }).status;
      expect(status).toEqual({ ...computed, vip: { ip: '240.0.0.1' } });
      expect(zoneEgress).toMatchObject(egress);
      return (zoneEgress as JsonObject)['sni'];
    };
    expect(sniOf(true)).toMatch(/^a[0-9a-f]{16}\.pay\.443\.default\.mes$/);
    expect(sniOf(false)).toBe('sni.extsvc.default.pay.443');
    const before = { ...row, spec: {}, status: { ...stored, vip: { ip: 'x' }, zoneEgress: egress } };
    expect(externalServiceRow(before, nothing, { egress, hasHashedSni: true }).status).toEqual({
      addresses: [other],
      kept: true,
    });
  });

  it('of a service of many zones has the services that it matches, or says that there are none', () => {
    const row = makeRow('MeshMultiZoneService', 'all', { status: { ...stored, meshServices: ['old'] } });
    const conditions = [{ type: 'MeshServicesMatched' }];
    expect(multiZoneServiceRow(row, parts, { meshServices: [{ name: 'a' }], conditions }).status).toEqual({
      ...{ ...computed, vips: [{ ip: '240.0.0.1' }], meshServices: [{ name: 'a' }], conditions },
    });
    expect(multiZoneServiceRow(row, nothing, { meshServices: [], conditions }).status).toEqual({
      ...{ addresses: [other], kept: true, conditions },
    });
  });

  const row = makeRow('MeshService', 'cart', { spec: { ports: [{ port: 80 }], kept: 1 }, status: stored });
  const local: LocalParts = {
    ...{ proxies: { total: 2, connected: 1, healthy: 0 }, serviceTags: ['b', 'a', 'b'], spiffeIds: ['spiffe://y', 'spiffe://x'] },
    ...{ ingress: null, hasHashedSni: true, acceptTls: false, isCalledInPlaintext: true, withdrawal: null },
  };

  it('of a MeshService of another zone has its address and names alone', () => {
    expect(meshServiceRow(row, parts, null)).toEqual({ ...row, status: { ...computed, vips: [{ ip: '240.0.0.1' }] } });
  });

  it('of an own MeshService has its state, its identities and its proxies', () => {
    expect(meshServiceRow(row, parts, local)).toEqual({
      ...row,
      spec: {
        ...{ ports: [{ port: 80 }], kept: 1, state: 'Unavailable' },
        identities: [
          { type: 'ServiceTag', value: 'a' },
          { type: 'ServiceTag', value: 'b' },
        ],
      },
      status: {
        ...{ ...computed, vips: [{ ip: '240.0.0.1' }], tls: { status: 'NotReady' } },
        dataplaneProxies: { total: 2, connected: 1 },
      },
    });
    expect(meshServiceRow(row, parts, { ...local, acceptTls: true }).spec['identities']).toEqual([
      { type: 'ServiceTag', value: 'a' },
      { type: 'ServiceTag', value: 'b' },
      { type: 'SpiffeID', value: 'spiffe://x' },
      { type: 'SpiffeID', value: 'spiffe://y' },
    ]);
    const served = meshServiceRow(row, nothing, {
      ...{ ...local, proxies: { total: 0, connected: 0, healthy: 1 }, serviceTags: [], spiffeIds: [] },
      ingress: { address: '10.0.0.8', port: 10_001 },
    });
    expect(served.spec).toEqual({
      ...{ ports: [{ port: 80 }], kept: 1, state: 'Available' },
      zoneIngress: { address: '10.0.0.8', port: 10_001, sni: expect.stringMatching(/cart/) as string },
    });
    expect(served.status).toEqual({
      addresses: [other],
      kept: true,
      tls: { status: 'NotReady' },
      dataplaneProxies: { healthy: 1 },
    });
  });

  it.each<[string, JsonObject, Partial<LocalParts>, JsonObject]>([
    ['no proxy accepts it', {}, {}, { status: 'NotReady' }],
    ['all accept it, at first', {}, { acceptTls: true, isCalledInPlaintext: false }, { status: 'Ready' }],
    ['all accept it, and some client speaks plain text', { status: 'Ready' }, { acceptTls: true }, { status: 'Ready' }],
    ['no client speaks plain text', { status: 'Ready' }, { isCalledInPlaintext: false }, { status: 'Ready', enforced: true }],
    ['it was enforced', { status: 'Ready', enforced: true }, {}, { status: 'Ready', enforced: true }],
    ['its servers lose their identity', { status: 'Ready', enforced: true }, { withdrawal: 'open' }, { status: 'Ready' }],
    ['its servers lose it before all accept TLS', {}, { withdrawal: 'open', acceptTls: true }, { status: 'NotReady' }],
    ['its clients change to plain text', { status: 'Ready' }, { withdrawal: 'clients', acceptTls: true }, { status: 'NotReady' }],
    ['its identity has gone', { status: 'Ready', enforced: true }, { spiffeIds: [] }, { status: 'NotReady' }],
  ])('says of TLS, when %s, with %j before', (_, tls, changes, expected) => {
    const before = { ...row, status: { tls } };
    expect(meshServiceRow(before, nothing, { ...local, ...changes }).status['tls']).toEqual(expected);
  });
});
