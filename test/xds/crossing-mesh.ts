// A mesh of several zones: a proxy in east with an identity that calls services of other zones, one of all zones, and an external one.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { label } from '../../src/resource/labels.ts';
import type { JsonObject, Resource } from '../../src/resource/types.ts';
import { make } from '../policy/make-resource.ts';

const AUTHORITY = readFileSync(join(import.meta.dirname, 'authority.pem'), 'utf8');
export const EGRESS = { address: '10.0.1.1', port: 10_002 };

export function trustOf(zone: string): Resource {
  const trustDomain = `default.${zone}.mesh.local`;
  return make('MeshTrust', zone, { trustDomain, caBundles: [{ type: 'Pem', pem: { value: AUTHORITY } }] });
}

export function cartOf(zone: string, spec: JsonObject = {}, tls: JsonObject = { status: 'Ready' }): Resource {
  const base = {
    selector: { dataplaneLabels: { matchLabels: { app: 'cart' } } },
    ports: [{ port: 80, name: 'http', targetPort: 8080, appProtocol: 'http' }],
    identities: [{ type: 'SpiffeID', value: `spiffe://default.${zone}.mesh.local/workload/cart` }],
    state: 'Available',
    ...(zone !== 'east' && { zoneIngress: { address: `10.1.0.${String(zone.length)}`, port: 10_001, sni: `${zone}.cart` } }),
  };
  return { ...make('MeshService', 'cart', { ...base, ...spec }, { zone }), status: { tls } };
}

export function zoneAddress(name: string, zone: string, address: string): Resource {
  return make('MeshZoneAddress', name, { address, port: 10_001 }, { zone });
}

/** A second MeshService of `everywhere` in zone `east`, whose server does not accept TLS yet. */
export const waitingCart: readonly Resource[] = [
  {
    ...make(
      'MeshService',
      'cart-v2',
      { ...cartOf('east').spec, selector: { dataplaneLabels: { matchLabels: { app: 'cart-v2' } } }, identities: [] },
      { zone: 'east', labels: { [label.displayName]: 'cart' } },
    ),
    status: { tls: { status: 'NotReady' } },
  },
  make(
    'Dataplane',
    'cart-v2',
    { networking: { address: '10.0.0.2', inbound: [{ port: 8080, protocol: 'http' }] } },
    { zone: 'east', labels: { app: 'cart-v2' } },
  ),
];

export const everywhere = make('MeshMultiZoneService', 'everywhere', {
  selector: { meshService: { matchLabels: { [label.displayName]: 'cart' } } },
  ports: [{ port: 80, name: 'http', appProtocol: 'http' }],
});

export const payments: Resource = {
  ...make('MeshExternalService', 'payments', {
    match: { type: 'HostnameGenerator', port: 443, protocol: 'http' },
    endpoints: [{ address: 'bank.example', port: 443 }],
  }),
  status: { zoneEgress: { ...EGRESS, sni: 'egress.payments' } },
};

export function egressAt(zoneEgress: JsonObject): Resource {
  return make('Dataplane', 'egress', { networking: { zoneEgress } }, { zone: 'east', labels: { [label.workload]: 'egress' } });
}

export const egress = egressAt(EGRESS);

export const identity: Resource = {
  ...make(
    'MeshIdentity',
    'all',
    {
      selector: { dataplane: { matchLabels: {} } },
      provider: { type: 'Bundled', bundled: { autogenerate: { enabled: true } } },
    },
    { zone: 'east' },
  ),
  status: { conditions: [{ type: 'Ready', status: 'True', reason: 'Ready' }] },
};

const service = (zone: string): JsonObject => ({
  kind: 'MeshService',
  labels: { [label.displayName]: 'cart', [label.zone]: zone },
  port: 80,
});
export const crossingRows: readonly Resource[] = [
  make('Mesh', 'default', {}),
  ...['cart', 'caller'].map((name, at) =>
    make(
      'Dataplane',
      name,
      {
        networking: {
          address: `10.0.0.${String(at + 1)}`,
          inbound: [{ port: 8080, name: 'http', protocol: 'http' }],
          outbound: [
            ...['east', 'west', 'north'].map((zone, of) => ({ port: 10_000 + of, backendRef: service(zone) })),
            { port: 10_010, backendRef: { kind: 'MeshMultiZoneService', name: 'everywhere', port: 80 } },
            { port: 10_011, backendRef: { kind: 'MeshExternalService', name: 'payments' } },
          ],
        },
      },
      { zone: 'east', labels: { app: name, [label.workload]: name } },
    ),
  ),
  ...['east', 'west', 'north'].flatMap((zone) => [trustOf(zone), cartOf(zone)]),
  everywhere,
  payments,
  egress,
  identity,
];
