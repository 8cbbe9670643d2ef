// The facts of a Dataplane, each read from its place.
import { expect, it } from 'vitest';
import { makeRow } from '../../test/support/make-row.ts';
import type { JsonObject, Labels } from '../resource/types.ts';
import { parseDataplane, type DataplaneProxy } from './dataplane-proxy.ts';

const parse = (networking: JsonObject, labels: Labels = {}): DataplaneProxy =>
  parseDataplane(makeRow('Dataplane', 'stored', { mesh: 'shop', labels, spec: { networking } }));

it('a Dataplane has its place, its names and each pair of its labels and tags once', () => {
  const labels = {
    ...{ 'kuma.io/display-name': 'shown', 'kuma.io/zone': 'east', 'kuma.io/origin': 'zone', 'k8s.kuma.io/namespace': 'ns' },
    app: 'cart',
  };
  const inbound = [
    { port: 80, tags: { app: 'cart', tier: 'a' } },
    { port: 81, tags: { app: 'other', tier: 'a' } },
  ];
  const { sections: _sections, resource: _resource, ...facts } = parse({ inbound, gateway: { tags: { role: 'edge' } } }, labels);
  expect(facts).toEqual({
    ...{ zone: 'east', namespace: 'ns', origin: 'zone', displayName: 'shown', kri: 'kri_dp_shop_east_ns_shown_', labels },
    gatewayTags: { role: 'edge' },
    pairs: [
      ...Object.entries(labels).filter(([key]) => key !== 'app'),
      ...[
        ['app', 'cart'],
        ['app', 'other'],
        ['role', 'edge'],
        ['tier', 'a'],
      ],
    ],
  });
});

it('a Dataplane without labels and networking has empty facts', () => {
  expect(parse({})).toMatchObject({
    ...{ zone: '', namespace: '', origin: '', displayName: 'stored', kri: 'kri_dp_shop___stored_' },
    ...{ labels: {}, gatewayTags: null, sections: [], pairs: [] },
  });
  expect(parse({ gateway: {} }).gatewayTags).toEqual({});
});

it('a Dataplane has a section for each inbound and each listener of a zone proxy, in this order', () => {
  const { sections } = parse({
    zoneEgress: { port: 4, name: 'out' },
    zoneIngress: { port: 3 },
    listeners: [
      { type: 'ZoneEgress', port: 2, name: 'e' },
      { type: 'ZoneIngress', port: 1 },
    ],
    inbound: [
      { port: 80, name: 'web', protocol: 'http', tags: { 'kuma.io/protocol': 'tcp', a: 'b' } },
      { port: 81, tags: { 'kuma.io/protocol': 'grpc' } },
      {},
    ],
  });
  const plain = { name: '', protocol: '', tags: {} };
  expect(sections).toEqual([
    ...[
      { kind: 'Inbound', section: 'web', name: 'web', port: 80, protocol: 'http', tags: { 'kuma.io/protocol': 'tcp', a: 'b' } },
    ],
    { ...plain, kind: 'Inbound', section: '81', port: 81, protocol: 'grpc', tags: { 'kuma.io/protocol': 'grpc' } },
    { ...plain, kind: 'Inbound', section: '0', port: 0 },
    { ...plain, kind: 'ZoneEgress', section: 'e', name: 'e', port: 2 },
    { ...plain, kind: 'ZoneIngress', section: '1', port: 1 },
    { ...plain, kind: 'ZoneIngress', section: '3', port: 3 },
    { ...plain, kind: 'ZoneEgress', section: 'out', name: 'out', port: 4 },
  ]);
});
