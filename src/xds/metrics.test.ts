import { describe, expect, it } from 'vitest';
import type { Conf } from '../policies/confs.ts';
import type { JsonObject } from '../resource/types.ts';
import { metricsCluster, metricsDocument, metricsListener, metricsSource, prometheusBackends } from './metrics.ts';

type Backend = NonNullable<Conf<'MeshMetric'>['backends']>[number];

const PROMETHEUS = { path: '/metrics', port: 5670 };
const OWNER = { mesh: 'shop', name: 'web' };
const ENVOY = { pipe: '/admin', isCompanion: false };
const COMPANION = { pipe: '/run/kuma-mh-web-shop.sock', isCompanion: true };

it('the metrics of a proxy come from the program beside it, else from its admin interface, else from nowhere', () => {
  expect(metricsSource({ companion: '/run', adminSocket: '/admin' }, OWNER)).toEqual(COMPANION);
  expect(metricsSource({ companion: null, adminSocket: '/admin' }, OWNER)).toEqual(ENVOY);
  expect(metricsSource({ companion: null, adminSocket: null }, OWNER)).toBeNull();
});

it('a Prometheus backend has the name of its client', () => {
  const [ofA, ofB] = ['a', 'b'].map((clientId) => ({ ...PROMETHEUS, clientId }));
  const backends: Backend[] = [
    { type: 'Prometheus', prometheus: ofA },
    { type: 'OpenTelemetry', prometheus: ofB },
    { type: 'Prometheus', prometheus: PROMETHEUS },
  ];
  expect(prometheusBackends({ backends })).toEqual([
    { name: 'system_meshmetric_prometheus_a', prometheus: ofA },
    { name: 'system_meshmetric_prometheus_default-backend', prometheus: PROMETHEUS },
  ]);
});

it('the cluster of a Prometheus backend has no limits: it serves the proxy itself', () => {
  expect(metricsCluster('m', ENVOY)).toEqual({
    ...{ name: 'm', type: 'STATIC', connectTimeout: '5s' },
    loadAssignment: { clusterName: 'm', endpoints: [{ lbEndpoints: [{ endpoint: { address: { pipe: { path: '/admin' } } } }] }] },
  });
});

describe('the listener of a Prometheus backend', () => {
  type Chain = {
    filters: { typedConfig: { routeConfig: { virtualHosts: { routes: JsonObject[] }[] } } }[];
    transportSocket?: JsonObject;
  };

  type Sidecar = NonNullable<Conf<'MeshMetric'>['sidecar']>;

  const listener = (
    prometheus: Partial<typeof PROMETHEUS> = {},
    { sidecar = {}, source = ENVOY, reusePort = false, tls = null as { certificate: string; key: string } | null } = {},
  ): JsonObject =>
    metricsListener('m', { prometheus: { ...PROMETHEUS, ...prometheus }, sidecar }, source, '10.0.0.1', { reusePort }, tls);
  const chainOf = (of: JsonObject): Chain | undefined => (of['filterChains'] as Chain[])[0];
  const routeOf = (of: JsonObject): JsonObject | undefined =>
    chainOf(of)?.filters[0]?.typedConfig.routeConfig.virtualHosts[0]?.routes[0];

  it('is on the address of the proxy and the port of the backend', () => {
    expect(listener({ port: 9090 })['address']).toEqual({ socketAddress: { address: '10.0.0.1', portValue: 9090 } });
    expect(listener()['address']).toEqual({ socketAddress: { address: '10.0.0.1', portValue: 5670 } });
  });

  const isGet = { name: ':method', stringMatch: { exact: 'GET' } };

  it.each<[Partial<typeof PROMETHEUS>, { sidecar?: Sidecar }, string, string]>([
    [{}, {}, '/metrics', '/stats/prometheus?usedonly'],
    [{ path: '/m' }, {}, '/m', '/stats/prometheus?usedonly'],
    [{}, { sidecar: { includeUnused: false } }, '/metrics', '/stats/prometheus?usedonly'],
    [{}, { sidecar: { includeUnused: true } }, '/metrics', '/stats/prometheus'],
  ])('of %j with %j opens one page of the admin interface, %s as %s', (prometheus, options, path, prefixRewrite) => {
    const match = { path, headers: [isGet] };
    expect(routeOf(listener(prometheus, options))).toEqual({ match, route: { cluster: 'm', prefixRewrite } });
  });

  it('leads to the program beside the proxy, which reads what is wanted from its document', () => {
    expect(routeOf(listener({}, { sidecar: { includeUnused: true }, source: COMPANION }))).toEqual({
      match: { prefix: '/metrics' },
      route: { cluster: 'm', prefixRewrite: '/meshmetric' },
    });
  });

  it('shares its port between restarts of the proxy, if the proxy asks for it', () => {
    expect(listener({}, { reusePort: true })['enableReusePort']).toBe(true);
    // Envoy shares a port where the field is left out.
    expect(listener()['enableReusePort']).toBe(false);
  });

  it('has TLS with the certificate of the proxy, or plain text', () => {
    expect(chainOf(listener())).not.toHaveProperty('transportSocket');
    const files = { certificateChain: { filename: '/c' }, privateKey: { filename: '/k' } };
    expect(chainOf(listener({}, { tls: { certificate: '/c', key: '/k' } }))?.transportSocket).toMatchObject({
      typedConfig: { commonTlsContext: { tlsCertificates: [files] } },
    });
  });
});

it('the document for the program beside the proxy names applications, backends and labels', () => {
  const conf: Conf<'MeshMetric'> = {
    sidecar: { includeUnused: true },
    applications: [
      { name: 'app', path: '/p', port: 1, address: 'a' },
      { path: '/metrics', port: 2 },
    ],
    backends: [
      { type: 'Prometheus', prometheus: { ...PROMETHEUS, clientId: 'c' } },
      { type: 'Prometheus', prometheus: PROMETHEUS },
    ],
  };
  const owner = { mesh: 'shop', zone: 'east', workload: 'web' };
  const extraLabels = { 'kuma.proxy_role': 'sidecar', 'kuma.workload': 'web', mesh: 'shop', zone: 'east' };
  expect(metricsDocument(conf, owner)).toEqual({
    observability: {
      metrics: {
        sidecar: { includeUnused: true },
        applications: [
          { name: 'app', path: '/p', port: 1, address: 'a' },
          { path: '/metrics', port: 2, address: '' },
        ],
        backends: [
          { type: 'Prometheus', name: 'c' },
          { type: 'Prometheus', name: null },
        ],
        extraLabels,
      },
    },
  });
  expect(metricsDocument({}, owner)).toEqual({ observability: { metrics: { applications: [], backends: [], extraLabels } } });
});
