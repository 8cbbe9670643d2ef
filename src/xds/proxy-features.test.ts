import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../resource/types.ts';
import { nodeMetadata } from './bootstrap.ts';
import { isPath, proxyFeatures, sharedFeatures, WITHOUT_FEATURES, type ProxyFeatures } from './proxy-features.ts';

const OWNER = { mesh: 'shop', name: 'web' };

describe('the features of a proxy', () => {
  it.each<[JsonObject, Partial<ProxyFeatures>]>([
    [{}, {}],
    [{ features: 'feature-reuse-port' }, {}],
    [{ features: ['feature-reuse-port'] }, { reusePort: true }],
    [{ workdir: '/w' }, {}],
    [{ features: ['feature-tcp-accesslog-via-named-pipe'], workdir: '/w' }, { tcpLogPipe: '/w/kuma-al-web-shop.sock' }],
    [{ features: ['feature-otel-via-kuma-dp'], workdir: '/w' }, { companion: '/w' }],
    [{ features: ['feature-otel-via-kuma-dp'] }, {}],
    [{ 'dataplane.admin.socketPath': '/a' }, { adminSocket: '/a' }],
    [{ 'dataplane.admin': { socketPath: '/a' } }, { adminSocket: '/a' }],
    [{ 'dataplane.dns.port': '0' }, {}],
    [{ 'dataplane.dns.port': '1' }, { companionDns: true }],
    [{ metricsCertPath: '/c' }, {}],
    [{ metricsKeyPath: '/k' }, {}],
    [{ metricsCertPath: '/c', metricsKeyPath: '/k' }, { metricsCertificate: { certificate: '/c', key: '/k' } }],
    [{ systemCaPath: '/ca' }, { systemCa: '/ca' }],
  ])('with the metadata %j are %j', (metadata, expected) => {
    expect(proxyFeatures(metadata, OWNER)).toEqual({ ...WITHOUT_FEATURES, ...expected });
  });
});

it('features that name a file or folder are not those that are on or off', () => {
  const features = { ...WITHOUT_FEATURES, companion: '/w', metricsCertificate: { certificate: '/c', key: '/k' }, ipv6: true };
  expect(Object.entries(features).flatMap(([key, feature]) => (isPath(feature) ? [key] : []))).toEqual([
    ...['companion', 'metricsCertificate'],
  ]);
  expect(sharedFeatures(features)).toEqual({
    ...{ reusePort: false, tcpLogPipe: false, companion: true, companionDns: false, adminSocket: false },
    ...{ metricsCertificate: true, systemCa: false, ipv6: true },
  });
});

describe('the metadata of a bootstrap', () => {
  const empty = {
    'dataplane.proxyType': 'dataplane',
    'dataplane.admin.socketPath': '/w/kuma-envoy-admin.sock',
    'dataplane.dns.port': '0',
    'dataplane.readinessReporter.port': '0',
    ...{
      features: [],
      version: {},
      workdir: '/w',
      metricsCertPath: '',
      metricsKeyPath: '',
      systemCaPath: '',
      ipv6Enabled: false,
    },
  };

  it.each<[JsonObject, JsonObject]>([
    [{}, {}],
    [{ dataplaneResource: 'type: Dataplane' }, { 'dataplane.resource': 'type: Dataplane' }],
    [
      { dnsPort: 5, readinessPort: 6 },
      { 'dataplane.dns.port': '5', 'dataplane.readinessReporter.port': '6' },
    ],
    [
      { features: ['a'], version: { envoy: 'v' } },
      { features: ['a'], version: { envoy: 'v' } },
    ],
    [{ features: 'a' }, {}],
    [{ metricsResources: { certPath: '/c', keyPath: '/k' } }, { metricsCertPath: '/c', metricsKeyPath: '/k' }],
    [
      { systemCaPath: '/ca', ipv6Enabled: true },
      { systemCaPath: '/ca', ipv6Enabled: true },
    ],
    [{ dynamicMetadata: {} }, {}],
    [{ dynamicMetadata: { a: 'b' } }, { dynamicMetadata: { a: 'b' } }],
  ])('of a request with %j has %j', (request, expected) => {
    expect(nodeMetadata({ workdir: '/w', ...request })).toEqual({ ...empty, ...expected });
  });
});
