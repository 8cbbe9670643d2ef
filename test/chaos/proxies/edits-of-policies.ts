// Random edits of every policy. Each returns the kept connections that pass where it has edited.
import type { JsonObject } from '../../../src/resource/types.ts';
import { MESH, SERVERS } from './edited-mesh.ts';
import { SPREAD } from './other-zone.ts';
import { CLIENT, OF_CLIENT, OF_ZONE, ofServer, type Aimed, type PolicyAims } from './policy-aims.ts';

const VERSIONS: readonly JsonObject[] = [
  { tlsVersion: { min: 'TLS12', max: 'TLS12' } },
  { tlsVersion: { min: 'TLS13', max: 'TLS13' } },
  { tlsCiphers: ['ECDHE-RSA-AES256-GCM-SHA384'] },
  { tlsVersion: { min: 'TLS12', max: 'TLS13' } },
];
const BALANCERS = ['RoundRobin', 'LeastRequest', 'Random'] as const;
const HTTP_MANAGER = 'envoy.filters.network.http_connection_manager';
/** What a log reads, so that Envoy gets the labels of the Dataplane. */
const LABEL = '%CEL(xds.listener_metadata.filter_metadata["io.kuma.tags"]["version"])%';

const seconds = (by: number): string => `${String(by + 10)}s`;
const trustDomain = `spiffe://${MESH}.east.mesh.local`;
const id = (name: string): JsonObject => ({ spiffeID: { type: 'Exact', value: `${trustDomain}/workload/${name}` } });
const everyone: JsonObject = { spiffeID: { type: 'Prefix', value: trustDomain } };
const permit = (...allow: JsonObject[]): JsonObject => ({ rules: [{ default: { allow } }] });
const logTo = (plain: string): JsonObject => ({
  backends: [{ type: 'File', file: { path: '/dev/null', format: { type: 'Plain', plain } } }],
});
const trace = (by: number): JsonObject => ({
  default: {
    backends: [{ type: 'Zipkin', zipkin: { url: 'http://127.0.0.1:9/api/v2/spans' } }],
    sampling: { overall: by },
  },
});
const delays = (count: number, by: number): JsonObject => ({
  http: Array.from({ length: count }, (_, at) => ({ delay: { value: `${String(by + at)}s`, percentage: 0 } })),
});
const patch = (target: string, match: JsonObject, jsonPatch: JsonObject): JsonObject => ({
  default: { appendModifications: [{ [target]: { operation: 'Patch', match, jsonPatches: [jsonPatch] } }] },
});
const ofBothZones = { kind: 'MeshMultiZoneService', labels: { 'kuma.io/display-name': SPREAD } };
const all = (spec: JsonObject): Aimed => ({ spec, touches: OF_CLIENT });
const ofZone = (spec: JsonObject): Aimed => ({ spec, touches: OF_ZONE });

export function editsOfPolicies(aims: PolicyAims, metricsPort: number) {
  const { edited, below } = aims;
  const write = aims.write.bind(aims);
  return {
    'MeshTLS versions': () =>
      write('MeshTLS', 'tls', (by) => ofZone({ rules: [{ default: VERSIONS[by % VERSIONS.length] ?? {} }] })),
    'MeshTLS mode': () => write('MeshTLS', 'mode', (by) => aims.rules({ mode: by % 2 === 0 ? 'Permissive' : 'Strict' })),
    // It stays: without one nothing is permitted.
    'MeshTrafficPermission of all': async () => {
      await edited.put('MeshTrafficPermission', 'all', { spec: permit(aims.oneOf([everyone, id('client')])) });
      return OF_ZONE;
    },
    'MeshTrafficPermission rules': () =>
      write('MeshTrafficPermission', 'more', (by) => {
        const { spec, touches } = aims.servers();
        return { spec: { ...spec, ...permit(id('client'), id(`other-${String(by)}`)) }, touches };
      }),
    'MeshTimeout to': () =>
      write('MeshTimeout', 'timeout-to', (by) =>
        aims.to({ connectionTimeout: seconds(by), http: { requestTimeout: seconds(by), maxConnectionDuration: '1h' } }),
      ),
    'MeshTimeout requestHeadersTimeout to': () =>
      write('MeshTimeout', 'headers-to', (by) =>
        aims.to({ http: { requestTimeout: '60s', requestHeadersTimeout: seconds(by) } }),
      ),
    'MeshTimeout rules': () =>
      write('MeshTimeout', 'timeout-rules', (by) =>
        aims.rules({ idleTimeout: '1h', http: { requestTimeout: seconds(by), streamIdleTimeout: '1h' } }),
      ),
    'MeshTimeout requestHeadersTimeout': () =>
      write('MeshTimeout', 'headers-rules', (by) =>
        aims.rules({ http: { requestTimeout: '60s', requestHeadersTimeout: seconds(by) } }),
      ),
    'MeshRetry to': () =>
      write('MeshRetry', 'retry-to', (by) => aims.to({ http: { numRetries: by }, tcp: { maxConnectAttempt: by } })),
    'MeshCircuitBreaker to': () =>
      write('MeshCircuitBreaker', 'breaker-to', (by) => aims.to({ connectionLimits: { maxConnections: 1_000 + by } })),
    'MeshCircuitBreaker rules': () =>
      write('MeshCircuitBreaker', 'breaker-rules', (by) => aims.rules({ connectionLimits: { maxConnections: 1_000 + by } })),
    'MeshHealthCheck to': () => write('MeshHealthCheck', 'health-to', (by) => aims.to({ interval: seconds(by), tcp: {} })),
    'MeshLoadBalancingStrategy to': () =>
      write('MeshLoadBalancingStrategy', 'balancing-to', (by) =>
        aims.to({
          loadBalancer: { type: aims.oneOf(BALANCERS) },
          localityAwareness: { disabled: by % 2 === 0 },
        }),
      ),
    'MeshLoadBalancingStrategy across zones': () =>
      write('MeshLoadBalancingStrategy', 'crossing', () => {
        const failover = [{ to: aims.oneOf<JsonObject>([{ type: 'Any' }, { type: 'Only', zones: ['west'] }]) }];
        const localityAwareness = aims.oneOf<JsonObject>([{ disabled: true }, { crossZone: { failover } }]);
        return { spec: { ...CLIENT, to: [{ targetRef: ofBothZones, default: { localityAwareness } }] }, touches: [] };
      }),
    'MeshRateLimit rules': () =>
      write('MeshRateLimit', 'limit-rules', (by) => {
        const rate = { num: 10_000 + by, interval: '1s' };
        return aims.rules({ local: { http: { requestRate: rate }, ...(by % 2 === 0 && { tcp: { connectionRate: rate } }) } });
      }),
    'MeshFaultInjection rules': () => write('MeshFaultInjection', 'fault-rules', (by) => aims.rules(delays(1, by))),
    'MeshFaultInjection of three faults': async () => [
      ...(await write('MeshFaultInjection', 'faults', (by) => aims.rules(delays(3, by)))),
      ...(await aims.remove('MeshFaultInjection', 'faults')),
    ],
    'MeshAccessLog to': () => write('MeshAccessLog', 'log-to', (by) => aims.to(logTo(`${String(by)} %START_TIME%`))),
    'MeshAccessLog rules': () => write('MeshAccessLog', 'log-rules', (by) => aims.rules(logTo(`${String(by)} %START_TIME%`))),
    'labels that a log reads': async () => {
      const touched = await write('MeshAccessLog', 'log-labels', () => aims.rules(logTo(LABEL)));
      for (const server of SERVERS) await edited.label(server, below(100));
      return [...touched, ...(await aims.remove('MeshAccessLog', 'log-labels'))];
    },
    'MeshTrace of the client': () => write('MeshTrace', 'trace-client', (by) => all({ ...CLIENT, ...trace(by) })),
    'MeshTrace of servers': () =>
      write('MeshTrace', 'trace-server', (by) => {
        const server = aims.oneOf(SERVERS);
        return { spec: { ...aims.ofOne(server), ...trace(by) }, touches: ofServer(server) };
      }),
    MeshMetric: () =>
      write('MeshMetric', 'metric', (by) => {
        const prometheus = { port: metricsPort, path: `/metrics-${String(by)}`, tls: { mode: 'Disabled' } };
        const target = aims.oneOf([CLIENT, ...SERVERS.map(aims.ofOne)]);
        return { spec: { ...target, default: { backends: [{ type: 'Prometheus', prometheus }] } }, touches: [] };
      }),
    'MeshProxyPatch of routes': () =>
      write('MeshProxyPatch', 'patch-routes', (by) => {
        const value = [{ header: { key: 'x-patched', value: String(by) } }];
        const origin = aims.oneOf(['inbound', 'outbound']);
        return all(patch('virtualHost', { origin }, { op: 'add', path: '/responseHeadersToAdd', value }));
      }),
    'MeshProxyPatch of clusters': () =>
      write('MeshProxyPatch', 'patch-clusters', (by) => {
        const origin = aims.oneOf(['inbound', 'outbound']);
        return all(patch('cluster', { origin }, { op: 'add', path: '/connectTimeout', value: seconds(by) }));
      }),
    'MeshProxyPatch of filters': () =>
      write('MeshProxyPatch', 'patch-filters', (by) => {
        const match = { name: HTTP_MANAGER, origin: aims.oneOf(['inbound', 'outbound']) };
        return all(patch('networkFilter', match, { op: 'replace', path: '/statPrefix', value: `patched_${String(by)}` }));
      }),
  };
}
