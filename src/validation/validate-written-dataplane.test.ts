// Dataplanes that people write: the check refuses what a Kuma control plane refuses, and section names are RFC 1123 labels.
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { JsonObject } from '../resource/types.ts';
import { peerDataplaneViolations } from './validate-written-dataplane.ts';

const fieldsIn = (networking: string): string[] =>
  peerDataplaneViolations({ networking: parse(`{ address: 1.2.3.4, ${networking} }`) as JsonObject }).map(({ field }) => field);
const inbound = (more: string): string => `inbound: [{ port: 80, ${more} }]`;
const outbound = (more: string): string => `outbound: [{ ${more} }]`;
const reachable = (refs: string): string => `transparentProxying: { reachableBackends: { refs: [${refs}] } }`;
const listener = (type: string, more: string): string => `{ type: ${type}, address: 1.2.3.4, ${more} }`;

describe('a Dataplane that a user writes', () => {
  it.each([
    inbound('name: http, protocol: grpc, address: 10.0.0.1, serviceAddress: "::1", servicePort: 8080'),
    inbound('name: "80", tags: { kuma.io/service: "x y", "a!": "" }'),
    inbound('serviceProbe: { interval: 1s, timeout: 1s, unhealthyThreshold: 1, healthyThreshold: 1, tcp: {} }'),
    'inbound: [{ port: 80, name: a }, { port: 80, name: a }]',
    'gateway: {}',
    'gateway: { tags: {} }',
    'gateway: { tags: { kuma.io/service: x, kuma.io/protocol: tcp } }',
    outbound('port: 80, backendRef: { kind: MeshService, name: x, port: 80 }'),
    outbound('port: 80, address: 10.0.0.1, backendRef: { kind: MeshExternalService, labels: { a: b }, port: 80 }'),
    outbound('port: 80, backendRef: { kind: MeshExternalService, name: x }'),
    reachable('{ kind: MeshService, name: x, namespace: y, port: 5 }, { kind: MeshService, labels: { a: b } }'),
    'transparentProxying: { redirectPortInbound: 15006, redirectPortOutbound: 15001, ipFamilyMode: IPv4 }',
    'transparentProxying: { redirectPortInbound: 0 }',
    `listeners: [${listener('ZoneIngress', 'port: 80, name: a')}, ${listener('ZoneEgress', 'port: 81, name: b')}]`,
    `inbound: [{ port: 80, name: c }], listeners: [${listener('ZoneIngress', 'port: 81, name: a')}]`,
  ])('may have %s', (networking) => {
    expect(fieldsIn(networking)).toEqual([]);
  });

  it.each([
    [inbound('name: Not Valid'), 'inbound[0].name'],
    [inbound('name: a_b'), 'inbound[0].name'],
    [`listeners: [${listener('ZoneIngress', 'port: 80, name: Not Valid')}]`, 'listeners[0].name'],
    ['zoneIngress: { name: A }', 'zoneIngress.name'],
    ['zoneEgress: { name: a. }', 'zoneEgress.name'],
    [inbound('protocol: nope'), 'inbound[0].protocol'],
    [inbound('servicePort: 70000'), 'inbound[0].servicePort'],
    [inbound('address: foo.bar'), 'inbound[0].address'],
    [inbound('serviceAddress: a b'), 'inbound[0].serviceAddress'],
    [inbound('serviceProbe: { interval: 0s }'), 'inbound[0].serviceProbe.interval'],
    [inbound('serviceProbe: { timeout: -1s }'), 'inbound[0].serviceProbe.timeout'],
    [inbound('serviceProbe: { unhealthyThreshold: 0 }'), 'inbound[0].serviceProbe.unhealthyThreshold'],
    ['gateway: { tags: { a: b } }', 'gateway.tags'],
    ['gateway: { tags: { kuma.io/service: "" } }', 'gateway.tags["kuma.io/service"]'],
    ['gateway: { tags: { kuma.io/service: x, kuma.io/protocol: http } }', 'gateway.tags["kuma.io/protocol"]'],
    ['gateway: { tags: { kuma.io/service: x, "a!": y } }', 'gateway.tags["a!"]'],
    [outbound('backendRef: { kind: MeshService, name: x, port: 80 }'), 'outbound[0].port'],
    [outbound('port: 80, address: x y, backendRef: { kind: MeshService, name: x, port: 80 }'), 'outbound[0].address'],
    [outbound('port: 80, backendRef: { kind: Nope, name: x, port: 80 }'), 'outbound[0].backendRef.kind'],
    [outbound('port: 80, backendRef: { kind: MeshService, name: x }'), 'outbound[0].backendRef.port'],
    [outbound('port: 80, backendRef: { kind: MeshMultiZoneService, name: x }'), 'outbound[0].backendRef.port'],
    [outbound('port: 80, backendRef: { kind: MeshExternalService, name: x, port: 0 }'), 'outbound[0].backendRef.port'],
    [outbound('port: 80, backendRef: { kind: MeshService, port: 80 }'), 'outbound[0].backendRef'],
    ['transparentProxying: { redirectPortInbound: 70000 }', 'transparentProxying.redirectPortInbound'],
    [
      'transparentProxying: { redirectPortInbound: 15001, redirectPortOutbound: 15001 }',
      'transparentProxying.redirectPortOutbound',
    ],
    [reachable('{ kind: Nope, name: x }'), 'transparentProxying.reachableBackends.refs[0].kind'],
    [reachable('{ kind: MeshService }'), 'transparentProxying.reachableBackends.refs[0].name'],
    [reachable('{ kind: MeshService, labels: { a: b }, namespace: x }'), 'transparentProxying.reachableBackends.refs[0].name'],
    [reachable('{ kind: MeshService, name: x, labels: { a: b } }'), 'transparentProxying.reachableBackends.refs[0].labels'],
    [`listeners: [${listener('ZoneIngress', 'port: 80')}, ${listener('ZoneEgress', 'port: 80')}]`, 'listeners[1].port'],
    [
      `listeners: [${listener('ZoneIngress', 'port: 80, name: a')}, ${listener('ZoneEgress', 'port: 81, name: a')}]`,
      'listeners[1].name',
    ],
    [`inbound: [{ port: 80 }], listeners: [${listener('ZoneIngress', 'port: 80')}]`, 'listeners[0].port'],
    [`inbound: [{ port: 81, name: a }], listeners: [${listener('ZoneIngress', 'port: 80, name: a')}]`, 'listeners[0].name'],
  ])('may not have %s', (networking, field) => {
    expect(fieldsIn(networking)).toEqual([`networking.${field}`]);
  });
});
