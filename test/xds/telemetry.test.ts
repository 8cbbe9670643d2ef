// What a proxy has for its own telemetry, and what is said about policies that change nothing.
import { describe, expect, it } from 'vitest';
import { COLLECTOR_ENDPOINT_FORM } from '../../src/schema/collector-endpoint.ts';
import { MeshIndex } from '../../src/policy/mesh-index.ts';
import type { JsonObject, Resource } from '../../src/resource/types.ts';
import type { ProxyConfig } from '../../src/xds/proxy-context.ts';
import { proxyConfig } from '../../src/xds/proxy-config.ts';
import type { ProxyFeatures } from '../../src/xds/proxy-features.ts';
import { make } from '../policy/make-resource.ts';
import { FEATURES, shopRows } from './shop-mesh.ts';

const SYSTEM = 'system_meshmetric_prometheus';

function configWith(type: string, spec: JsonObject, features: Partial<ProxyFeatures> = {}): ProxyConfig {
  const index = new MeshIndex('default', [...shopRows, make(type, 'p', spec)]);
  const [proxy] = index.proxies();
  if (proxy === undefined) throw new Error('the mesh has no proxy');
  return proxyConfig(index, proxy, { ...FEATURES, ...features });
}

const problemsOf = ({ problems }: ProxyConfig): string[] => problems.map(({ field, reason }) => `${field} ${reason}`);
const ownOf = (resources: ReadonlyMap<string, JsonObject>): string[] =>
  [...resources.keys()].filter((name) => name.startsWith('system_')).sort();

describe('the metrics of a proxy', () => {
  const prometheus = (conf: JsonObject): JsonObject => ({ type: 'Prometheus', prometheus: conf });
  const metric = (conf: JsonObject, features: Partial<ProxyFeatures> = {}): ProxyConfig =>
    configWith('MeshMetric', { default: conf }, features);
  const companion = { companion: '/run/dp' };

  it('have a listener and a cluster for each Prometheus backend', () => {
    const config = metric({ backends: [prometheus({ clientId: 'a', port: 1 }), prometheus({ clientId: 'b', port: 2 })] });
    expect(ownOf(config.listeners)).toEqual([`${SYSTEM}_a`, `${SYSTEM}_b`]);
    expect(ownOf(config.clusters)).toEqual([`${SYSTEM}_a`, `${SYSTEM}_b`]);
    expect(problemsOf(config)).toEqual([]);
  });

  it.each([true, false])('are the only thing that leads to the admin interface, with includeUnused %s', (includeUnused) => {
    const { clusters, listeners, routes } = metric({ sidecar: { includeUnused }, backends: [prometheus({})] });
    const toAdmin = [...clusters].flatMap(([name, cluster]) =>
      JSON.stringify(cluster).includes('/tmp/admin.sock') ? [name] : [],
    );
    expect(toAdmin).toEqual([`${SYSTEM}_default-backend`]);
    const using = [...listeners, ...routes].filter(([, one]) => JSON.stringify(one).includes(`"cluster":"${toAdmin.join()}"`));
    expect(using.map(([name]) => name)).toEqual(toAdmin);
    const matches = JSON.stringify(using).matchAll(/"match":(\{[^}]*\}\}\]\})/g);
    expect([...matches].map(([, match = '']) => JSON.parse(match) as unknown)).toEqual([
      { path: '/metrics', headers: [{ name: ':method', stringMatch: { exact: 'GET' } }] },
    ]);
  });

  it('are without a value that cannot be read, which is named', () => {
    const config = metric({ backends: [prometheus({ clientId: 'a', port: 1 })], sidecar: { includeUnused: 'maybe' } });
    expect(ownOf(config.listeners)).toEqual([`${SYSTEM}_a`]);
    expect(config.problems.map(({ field }) => field)).toEqual(['spec.default.sidecar.includeUnused']);
  });

  it.each<[string, JsonObject[], string[], string]>([
    [
      'of one port',
      [
        { clientId: 'a', port: 7 },
        { clientId: 'b', port: 7 },
      ],
      ['a'],
      '7',
    ],
    ['of the default port', [{ clientId: 'a' }, { clientId: 'b', port: 5670 }], ['a'], '5670'],
    [
      'of one client',
      [
        { clientId: 'a', port: 7 },
        { clientId: 'a', port: 8 },
      ],
      ['a'],
      '8',
    ],
  ])('have the listener of the first of two backends %s', (_, backends, listeners, port) => {
    const config = metric({ backends: backends.map(prometheus) });
    expect(ownOf(config.listeners)).toEqual(listeners.map((name) => `${SYSTEM}_${name}`));
    expect(problemsOf(config)).toEqual([
      `spec.default.backends has two Prometheus backends of port ${port} or of one client: the first one has its listener`,
    ]);
  });

  it.each<[JsonObject | undefined, Partial<ProxyFeatures>, boolean]>([
    [undefined, {}, true],
    [{ mode: 'Disabled' }, {}, true],
    [{ mode: 'ActiveMTLSBackend' }, {}, false],
    [{ mode: 'ActiveMTLSBackend' }, { metricsCertificate: { certificate: '/c', key: '/k' } }, false],
    [{ mode: 'ProvidedTLS' }, {}, false],
    [{ mode: 'ProvidedTLS' }, { metricsCertificate: { certificate: '/c', key: '/k' } }, true],
  ])('with tls %j and %j have a listener: %s', (tls, features, hasListener) => {
    const config = metric({ backends: [prometheus({ clientId: 'a', ...(tls !== undefined && { tls }) })] }, features);
    expect(ownOf(config.listeners)).toEqual(hasListener ? [`${SYSTEM}_a`] : []);
    const mode = String(tls?.['mode']);
    expect(problemsOf(config)).toEqual(
      hasListener ? [] : [`spec.default.backends has no listener: the proxy has no certificate for tls.mode ${mode}`],
    );
    const isTls = JSON.stringify(config.listeners.get(`${SYSTEM}_a`) ?? {}).includes('DownstreamTlsContext');
    expect(isTls).toBe(hasListener && mode === 'ProvidedTLS');
  });

  it('need a source: the admin interface of the proxy or the program beside it', () => {
    const without = metric({ backends: [prometheus({})] }, { adminSocket: null });
    expect(ownOf(without.listeners)).toEqual([]);
    expect(problemsOf(without)).toEqual(['spec.default.backends has no effect on a proxy whose metadata names no admin socket']);
    expect(problemsOf(metric({ backends: [] }, { adminSocket: null }))).toEqual([]);
  });

  it('of applications, profiles and collectors need the program beside the proxy', () => {
    const conf = {
      sidecar: { profiles: { appendProfiles: [{ name: 'Basic' }] } },
      applications: [{ port: 1 }],
      backends: [{ type: 'OpenTelemetry', openTelemetry: { endpoint: 'otel:4317' } }],
    };
    const reason = 'has no effect: it needs kuma-dp beside the proxy';
    expect(problemsOf(metric(conf)).sort()).toEqual(
      ['applications', 'backends', 'sidecar.profiles'].map((path) => `spec.default.${path} ${reason}`),
    );
    const old = 'spec.default.backends[0].openTelemetry has no effect: kuma-dp sends metrics to a MeshOpenTelemetryBackend alone';
    expect(problemsOf(metric(conf, companion))).toEqual([old]);
    expect(problemsOf(metric({ sidecar: {}, applications: [], backends: [prometheus({})] }))).toEqual([]);
  });

  it('go to a collector by the program beside the proxy, which gets a document of the collectors', () => {
    const to = (name: string): ProxyConfig => {
      const backendRef = { kind: 'MeshOpenTelemetryBackend', name };
      return metric({ backends: [{ type: 'OpenTelemetry', openTelemetry: { backendRef, refreshInterval: '5s' } }] }, companion);
    };
    const document = {
      ...{ name: 'collector', socketPath: '/run/dp/kuma-otel-collector.sock', endpoint: 'otel:4317', useHTTP: false },
      metrics: { enabled: true, refreshInterval: '5s' },
    };
    expect(JSON.stringify(to('collector').listeners.get('system_dynamicconfig'))).toContain(
      JSON.stringify(JSON.stringify({ backends: [document] })).slice(1, -1),
    );
    expect(problemsOf(to('collector'))).toEqual([]);
    expect(problemsOf(to('none'))).toEqual(['spec.default.backends[0].openTelemetry names no MeshOpenTelemetryBackend']);
  });

  it('are described in a document for the program beside the proxy', () => {
    const config = metric({ backends: [prometheus({ clientId: 'a' })] }, companion);
    expect(ownOf(config.listeners)).toEqual(['system_dynamicconfig', `${SYSTEM}_a`]);
    const text = JSON.stringify(config.listeners.get('system_dynamicconfig'));
    expect(text).toContain(String.raw`\"kuma.workload\":\"shop\"`);
    expect(text).not.toContain('/otel');
    expect(ownOf(metric({ backends: [] }).listeners)).toEqual([]);
  });
});

describe('the traces of a proxy', () => {
  const trace = (conf: JsonObject, features: Partial<ProxyFeatures> = {}): ProxyConfig =>
    configWith('MeshTrace', { default: conf }, features);
  const tracers = ({ listeners }: ProxyConfig): number => JSON.stringify([...listeners.values()]).split('"tracing":').length - 1;

  it.each<[JsonObject, string[]]>([
    [{ type: 'Zipkin', zipkin: { url: 'http://zipkin:9411/api' } }, ['system_meshtrace_zipkin']],
    [{ type: 'Datadog', datadog: { url: 'http://dog:8126' } }, ['system_meshtrace_datadog']],
    [{ type: 'OpenTelemetry', openTelemetry: { endpoint: 'otel:4317' } }, ['system_meshtrace_otel_otel:4317']],
  ])('to %j have a cluster, and a tracer on each HTTP listener', (backend, clusters) => {
    const config = trace({ backends: [backend] });
    expect(ownOf(config.clusters)).toEqual(clusters);
    // Three inbounds, and outbounds to three services, one of several zones and one outside.
    expect(tracers(config)).toBeGreaterThanOrEqual(6);
    expect(problemsOf(config)).toEqual([]);
  });

  it('are none without a backend', () => {
    const config = trace({ backends: [] });
    expect([ownOf(config.clusters), tracers(config), problemsOf(config)]).toEqual([[], 0, []]);
  });

  it('to a collector with https are left out and reported on a proxy without authorities', () => {
    const https = { type: 'Zipkin', zipkin: { url: 'https://zipkin:9411/api' } };
    const config = trace({ backends: [https] }, { systemCa: null });
    expect([ownOf(config.clusters), tracers(config)]).toEqual([[], 0]);
    expect(problemsOf(config)).toEqual([
      expect.stringContaining('spec.default.backends[0] gets no spans: the proxy names no file'),
    ]);
    const checked = trace({ backends: [https] }, { systemCa: '/ca' });
    expect([ownOf(checked.clusters), problemsOf(checked)]).toEqual([['system_meshtrace_zipkin'], []]);
  });

  it('to a missing collector are left out and reported', () => {
    const backendRef = { kind: 'MeshOpenTelemetryBackend', name: 'none' };
    const config = trace({ backends: [{ type: 'OpenTelemetry', openTelemetry: { backendRef } }] });
    expect([ownOf(config.clusters), tracers(config)]).toEqual([[], 0]);
    expect(problemsOf(config)).toEqual(['spec.default.backends[0] names no collector that the proxy can reach']);
  });

  it('to a collector go through the program beside the proxy, which gets a document of the collectors', () => {
    const backendRef = { kind: 'MeshOpenTelemetryBackend', name: 'collector' };
    const config = trace({ backends: [{ type: 'OpenTelemetry', openTelemetry: { backendRef } }] }, { companion: '/run/dp' });
    expect(ownOf(config.listeners)).toEqual(['system_dynamicconfig']);
    const document = {
      name: 'collector',
      socketPath: '/run/dp/kuma-otel-collector.sock',
      endpoint: 'otel:4317',
      useHTTP: false,
      traces: { enabled: true },
    };
    expect(JSON.stringify(config.listeners.get('system_dynamicconfig'))).toContain(
      JSON.stringify(JSON.stringify({ backends: [document] })).slice(1, -1),
    );
  });
});

describe('two collectors of one display name', () => {
  const backends = [
    make('MeshOpenTelemetryBackend', 'otel', { endpoint: { address: '10.9.9.1' } }, { labels: { team: 'platform' } }),
    {
      ...make(
        'MeshOpenTelemetryBackend',
        'otel',
        { endpoint: { address: '10.9.9.2' } },
        { zone: 'east', labels: { team: 'shop' } },
      ),
      name: 'otel-of-east',
      creationTime: new Date(1),
    },
  ];
  const to = (team: string): JsonObject => ({
    backends: [{ type: 'OpenTelemetry', openTelemetry: { backendRef: { kind: 'MeshOpenTelemetryBackend', labels: { team } } } }],
  });
  const configOf = (features: Partial<ProxyFeatures>, ...policies: Resource[]): ProxyConfig => {
    const index = new MeshIndex('default', [...shopRows, ...backends, ...policies]);
    const [proxy] = index.proxies();
    if (proxy === undefined) throw new Error('the mesh has no proxy');
    return proxyConfig(index, proxy, { ...FEATURES, ...features });
  };
  const log = (name: string, targetRef: JsonObject, team: string): Resource =>
    make('MeshAccessLog', name, { to: [{ targetRef, default: to(team) }] });
  const CLUSTERS = ['system_meshaccesslog_otel_kri_motb_default___otel_', 'system_meshaccesslog_otel_otel'];

  it('get the access logs of their own policies', () => {
    const targetRef = { kind: 'MeshService', labels: { 'kuma.io/display-name': 'http' } };
    const { clusters, listeners } = configOf({}, log('all', { kind: 'Mesh' }, 'platform'), log('one', targetRef, 'shop'));
    expect(ownOf(clusters)).toEqual(CLUSTERS);
    const addresses = CLUSTERS.map((name) => /10\.9\.9\.\d/.exec(JSON.stringify(clusters.get(name)))?.[0]);
    expect(addresses).toEqual(['10.9.9.1', '10.9.9.2']);
    const text = JSON.stringify([...listeners.values()]);
    expect(CLUSTERS.map((name) => text.includes(`"clusterName":"${name}"`))).toEqual([true, true]);
  });

  it('have a cluster for the one that a logger names, also by a name in a policy of global', () => {
    const openTelemetry = { backendRef: { kind: 'MeshOpenTelemetryBackend', name: 'otel' } };
    const conf = { backends: [{ type: 'OpenTelemetry', openTelemetry }] };
    const policy = make('MeshAccessLog', 'all', { to: [{ targetRef: { kind: 'Mesh' }, default: conf }] });
    const { clusters, listeners } = configOf({}, policy);
    const named = JSON.stringify([...listeners.values()]).matchAll(/"clusterName":"(system_meshaccesslog[^"]*)"/g);
    expect([...new Set([...named].map(([, name]) => name))]).toEqual(ownOf(clusters));
  });

  it('get no metrics where the program beside the proxy knows the other one alone, which is reported', () => {
    const problemsTo = (team: string): string[] =>
      problemsOf(configOf({ companion: '/run/dp' }, make('MeshMetric', 'p', { default: to(team) })));
    expect(problemsTo('platform')).toEqual([
      'spec.default.backends[0].openTelemetry has no effect: kuma-dp knows collectors by display name, and another MeshOpenTelemetryBackend has this one',
    ]);
    expect(problemsTo('shop')).toEqual([]);
  });

  it('get metrics by name in the zone, also where the one of global is older', () => {
    const openTelemetry = { backendRef: { kind: 'MeshOpenTelemetryBackend', name: 'otel' } };
    const metric = make('MeshMetric', 'p', { default: { backends: [{ type: 'OpenTelemetry', openTelemetry }] } });
    expect(problemsOf(configOf({ companion: '/run/dp' }, metric))).toEqual([]);
  });
});

describe('the access logs of a proxy', () => {
  const log = (openTelemetry: JsonObject): ProxyConfig =>
    configWith('MeshAccessLog', {
      to: [{ targetRef: { kind: 'Mesh' }, default: { backends: [{ type: 'OpenTelemetry', openTelemetry }] } }],
    });

  it('to a collector have its cluster', () => {
    expect(ownOf(log({ endpoint: 'otel:4317' }).clusters)).toEqual(['system_meshaccesslog_otel_otel:4317']);
  });

  it('to a missing collector are left out and reported', () => {
    const config = log({ backendRef: { kind: 'MeshOpenTelemetryBackend', name: 'none' } });
    expect(ownOf(config.clusters)).toEqual([]);
    expect(problemsOf(config)).toEqual(['spec.to[0].default.backends[0].openTelemetry names no MeshOpenTelemetryBackend']);
  });
});

describe('an old address that cannot be read', () => {
  const BAD = { type: 'OpenTelemetry', openTelemetry: { endpoint: 'otel.example:71000' } };
  const REASON = `must be ${COLLECTOR_ENDPOINT_FORM}`;

  it('takes its own backend out of access logs alone', () => {
    const good = { type: 'OpenTelemetry', openTelemetry: { endpoint: 'otel:4317' } };
    const config = configWith('MeshAccessLog', { to: [{ targetRef: { kind: 'Mesh' }, default: { backends: [BAD, good] } }] });
    expect(ownOf(config.clusters)).toEqual(['system_meshaccesslog_otel_otel:4317']);
    expect(JSON.stringify([...config.listeners.values()])).toContain('system_meshaccesslog_otel_otel:4317');
    expect([...new Set(problemsOf(config))]).toEqual([`spec.to[0].default.backends[0].openTelemetry.endpoint ${REASON}`]);
  });

  it('takes its own backend out of metrics alone', () => {
    const prometheus = { type: 'Prometheus', prometheus: { port: 7 } };
    const config = configWith('MeshMetric', { default: { backends: [BAD, prometheus] } });
    expect(ownOf(config.listeners)).toEqual([`${SYSTEM}_default-backend`]);
    expect(problemsOf(config)).toEqual([`spec.default.backends[0].openTelemetry.endpoint ${REASON}`]);
  });

  it('switches traces off', () => {
    const config = configWith('MeshTrace', { default: { backends: [BAD] } });
    expect(ownOf(config.clusters)).toEqual([]);
    expect(problemsOf(config)).toEqual([`spec.default.backends[0].openTelemetry.endpoint ${REASON}`]);
  });
});

describe('a policy without an effect', () => {
  it.each<[string, JsonObject, string[]]>([
    ['MeshTrafficPermission', { rules: [{ default: {} }] }, ['spec.rules']],
    ['MeshTrafficPermission', { from: [{ targetRef: { kind: 'Mesh' }, default: { action: 'Allow' } }] }, ['spec.from']],
    ['MeshTLS', { rules: [{ default: { mode: 'Strict' } }] }, ['spec.rules[0].default.mode']],
    ['MeshTLS', { from: [{ targetRef: { kind: 'Mesh' }, default: { mode: 'Strict' } }] }, ['spec.from[0].default.mode']],
    ['MeshTLS', { rules: [{ default: { mode: 'Permissive' } }] }, []],
    ['MeshPassthrough', { default: { passthroughMode: 'All' } }, ['spec.default']],
    ['MeshTimeout', { rules: [{ default: { http: { requestTimeout: '1s' } } }] }, []],
  ])('on a proxy without an identity and without transparent proxying, %s %j, is named at %j', (type, spec, fields) => {
    expect(configWith(type, spec).problems.map(({ field }) => field)).toEqual(fields);
  });
});
