// A zone of many services: Dataplanes that the generator makes MeshServices of, spread evenly, and one zone proxy.
import type { JsonObject, ResourceKey } from '../src/resource/types.ts';
import type { Write } from '../src/store/resource-store.ts';
import { MESH } from './policies.ts';

export const ZONE = 'bench-east';

function dataplaneKey(index: number): ResourceKey {
  return { type: 'Dataplane', mesh: MESH, name: `proxy-${String(index).padStart(6, '0')}` };
}

/** @param isReady what a change turns; it shows in `status.dataplaneProxies` of its service */
export function dataplaneWrite(index: number, services: number, isReady = true): Write {
  const service = `service-${String(index % services)}`;
  const labels = { 'kuma.io/workload': service, 'kuma.io/zone': ZONE, app: service, team: `team-${String(index % 31)}` };
  const inbound: JsonObject = { port: 8080, name: 'http', protocol: 'http', ...(!isReady && { state: 'NotReady' }) };
  const networking = {
    address: `10.${String(index >> 16)}.${String((index >> 8) & 255)}.${String(index & 255)}`,
    inbound: [inbound],
  };
  return { op: 'put', key: dataplaneKey(index), labels, spec: { networking } };
}

/** The Mesh, a generator of hostnames, insights, the zone proxy and all Dataplanes. */
export function seedWrites(services: number, dataplanes: number): Write[] {
  const proxies = Array.from({ length: dataplanes }, (_, index) => index);
  const connectTime = '2026-01-01T00:00:00Z';
  return [
    { op: 'create', key: { type: 'Mesh', mesh: '', name: MESH }, labels: {}, spec: {} },
    {
      op: 'create',
      key: { type: 'HostnameGenerator', mesh: '', name: 'local' },
      labels: { 'kuma.io/origin': 'zone' },
      spec: {
        selector: { meshService: { matchLabels: { 'kuma.io/origin': 'zone' } } },
        template: '{{ .DisplayName }}.svc.mesh.local',
      },
    },
    {
      op: 'create',
      key: { type: 'Dataplane', mesh: MESH, name: 'zone-proxy' },
      labels: {},
      spec: {
        networking: {
          zoneIngress: { address: '10.255.0.1', port: 10001, advertisedAddress: '192.0.2.1', advertisedPort: 10001 },
          zoneEgress: { address: '10.255.0.1', port: 10002 },
        },
      },
    },
    ...proxies.map((index) => dataplaneWrite(index, services)),
    ...proxies.map((index): Write => {
      const key = { ...dataplaneKey(index), type: 'DataplaneInsight' };
      return { op: 'put', key, labels: {}, spec: { subscriptions: [{ id: '1', connectTime }] } };
    }),
  ];
}
