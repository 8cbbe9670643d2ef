import { describe, expect, it } from 'vitest';
import type { Conf } from '../policies/confs.ts';
import type { JsonObject } from '../resource/types.ts';
import { collectorUrl, traceCluster, tracing, type TraceBackend } from './tracing.ts';
import type { Collector } from './open-telemetry.ts';
import { usableConf } from './usable-conf.ts';

type Backend = NonNullable<Conf<'MeshTrace'>['backends']>[number];
type Zipkin = NonNullable<Backend['zipkin']>;
type Datadog = NonNullable<Backend['datadog']>;

const CONNECTION = { mesh: 'shop', zone: 'east', workload: 'web', direction: 'outbound', destination: 'db' } as const;
const collector: Collector = { name: 'c', protocol: 'grpc', address: 'otel', port: 4317, path: '', pipe: null };
/** With the defaults of the schema. */
const at = (type: 'Zipkin' | 'Datadog', url: string, given: Partial<Zipkin & Datadog> = {}): TraceBackend => {
  const place = { url: new URL(url), authorities: url.startsWith('https:') ? '/ca' : null };
  if (type === 'Datadog') return { type, ...place, conf: { url, splitService: false, ...given } };
  return { type, ...place, conf: { url, apiVersion: 'httpJson', sharedSpanContext: true, traceId128bit: false, ...given } };
};
const otel = (fields: Partial<Collector>): TraceBackend => ({ type: 'OpenTelemetry', collector: { ...collector, ...fields } });

function providerOf(backend: TraceBackend, connection: Parameters<typeof tracing>[2] = CONNECTION): JsonObject {
  const { name, typedConfig } = tracing({}, backend, connection)['provider'] as JsonObject;
  const { '@type': _, ...config } = typedConfig as JsonObject;
  return { name: name ?? null, ...config };
}

it.each<[string, boolean]>([
  ['http://a', true],
  ['https://a/b', true],
  ['grpc://a', false],
  ['a', false],
  ['', false],
  ['5', false],
])('the URL %j of a collector can be read: %s', (given, isRead) => {
  expect(collectorUrl(given) !== null).toBe(isRead);
});

describe('the cluster of a collector', () => {
  it.each<[string, string, number, boolean]>([
    ['http://zipkin/a', 'zipkin', 80, false],
    ['https://zipkin/a', 'zipkin', 443, true],
    ['http://zipkin:9411/a', 'zipkin', 9411, false],
    ['https://[::1]:9411/a', '::1', 9411, true],
  ])('of %s leads to %s, port %d, with TLS: %s', (url, address, portValue, isTls) => {
    const cluster = traceCluster(at('Zipkin', url));
    expect(cluster).toMatchObject({
      name: 'system_meshtrace_zipkin',
      loadAssignment: { endpoints: [{ lbEndpoints: [{ endpoint: { address: { socketAddress: { address, portValue } } } }] }] },
    });
    expect('transportSocket' in cluster).toBe(isTls);
  });

  it.each<[url: string, host: string, sanType: string]>([
    ['https://dog', 'dog', 'DNS'],
    ['https://10.0.0.1', '10.0.0.1', 'IP_ADDRESS'],
    ['https://[::1]:1', '::1', 'IP_ADDRESS'],
  ])('of %s takes a certificate for %s from the authorities of the machine alone', (url, exact, sanType) => {
    const validationContext = { trustedCa: { filename: '/ca' }, matchTypedSubjectAltNames: [{ sanType, matcher: { exact } }] };
    expect(traceCluster(at('Datadog', url))['transportSocket']).toMatchObject({
      typedConfig: { sni: exact, commonTlsContext: { validationContext } },
    });
  });

  it('of OpenTelemetry has the name of its backend', () => {
    expect(traceCluster(otel({}))).toMatchObject({ name: 'system_meshtrace_otel_c' });
  });
});

describe('the tracer of a connection', () => {
  it('of Zipkin asks the path of its URL', () => {
    const plain = { name: 'envoy.tracers.zipkin', collectorCluster: 'system_meshtrace_zipkin', collectorHostname: 'z:9411' };
    expect(providerOf(at('Zipkin', 'http://z:9411/a?b=c'))).toEqual({
      ...plain,
      ...{ collectorEndpoint: '/a?b=c', collectorEndpointVersion: 'HTTP_JSON', sharedSpanContext: true },
    });
    const conf = { apiVersion: 'httpProto', sharedSpanContext: false, traceId128bit: true } as const;
    expect(providerOf(at('Zipkin', 'http://z:9411/a', conf))).toEqual({
      ...plain,
      ...{ collectorEndpoint: '/a', collectorEndpointVersion: 'HTTP_PROTO', sharedSpanContext: false, traceId128bit: true },
    });
    expect(providerOf(at('Zipkin', 'http://z', { traceId128bit: false }))).not.toHaveProperty('traceId128bit');
  });

  it.each([
    [false, 'inbound', 'web'],
    [false, 'outbound', 'web'],
    [true, 'inbound', 'web_INBOUND'],
    [true, 'outbound', 'web_OUTBOUND_db'],
    [true, 'egress', 'web'],
  ] as const)('of Datadog, split: %s, on an %s, names the service %s', (splitService, direction, serviceName) => {
    expect(providerOf(at('Datadog', 'http://dog:8126', { splitService }), { ...CONNECTION, direction })).toEqual({
      ...{
        name: 'envoy.tracers.datadog',
        collectorCluster: 'system_meshtrace_datadog',
        serviceName,
        collectorHostname: 'dog:8126',
      },
    });
  });

  it.each<[Partial<Collector>, JsonObject]>([
    [{}, { grpcService: { envoyGrpc: { clusterName: 'system_meshtrace_otel_c' } } }],
    [{ protocol: 'http', pipe: '/p' }, { grpcService: { envoyGrpc: { clusterName: 'system_meshtrace_otel_c' } } }],
    [{ protocol: 'http', path: '/a' }, http('http://otel:4317/a/v1/traces')],
    [{ protocol: 'http', address: '::1' }, http('http://[::1]:4317/v1/traces')],
  ])('of OpenTelemetry with %j sends by %j', (fields, service) => {
    expect(providerOf(otel(fields))).toEqual({ name: 'envoy.tracers.opentelemetry', ...service, serviceName: 'web' });
  });
});

function http(uri: string): JsonObject {
  return { httpService: { httpUri: { uri, cluster: 'system_meshtrace_otel_c', timeout: '10s' } } };
}

describe('the traces of a connection', () => {
  const traced = (given: JsonObject): JsonObject => {
    const { conf } = usableConf('MeshTrace', 'default', { backends: [], ...given });
    const { provider: _, ...rest } = tracing(conf, otel({}), CONNECTION);
    return rest;
  };
  const literal = (tag: string, value: string): JsonObject => ({ tag, literal: { value } });
  const own = [literal('kuma.mesh', 'shop'), literal('kuma.zone', 'east'), literal('kuma.workload', 'kri_wl_shop_east__web_')];
  const all = {
    customTags: own,
    ...{ clientSampling: { value: 100 }, randomSampling: { value: 100 }, overallSampling: { value: 100 } },
  };

  it('are of all requests, or of a share', () => {
    expect(traced({})).toEqual(all);
    expect(traced({ sampling: { client: 0, random: '0.5', overall: 30 } })).toEqual({
      ...{ customTags: own, clientSampling: { value: 0 }, randomSampling: { value: 0.5 }, overallSampling: { value: 30 } },
    });
  });

  it('have tags with a text or with the value of a header; others are left out', () => {
    const tags = [
      { name: 'a', literal: 'b' },
      { name: 'c', header: { name: 'd' } },
      { name: 'e', header: { name: 'f', default: 'g' } },
      ...[{ name: '', literal: 'b' }, { name: 'h', literal: '' }, { name: 'i' }, { name: 'j', header: { name: '' } }],
    ];
    expect(traced({ tags })).toEqual({
      ...all,
      customTags: [
        { tag: 'a', literal: { value: 'b' } },
        { tag: 'c', requestHeader: { name: 'd' } },
        { tag: 'e', requestHeader: { name: 'f', defaultValue: 'g' } },
        ...own,
      ],
    });
    expect(traced({ tags: [{ name: 'i' }] })).toEqual(all);
  });

  it('say of which mesh, zone and workload the proxy is, where the policy says nothing else', () => {
    const tags = [{ name: 'kuma.zone', literal: 'mine' }];
    const { customTags } = traced({ tags });
    expect(customTags).toEqual([literal('kuma.zone', 'mine'), own[0], own[2]]);
  });
});
