import { describe, expect, it } from 'vitest';
import { make } from '../../test/policy/make-resource.ts';
import { MeshIndex } from '../policy/mesh-index.ts';
import type { JsonObject } from '../resource/types.ts';
import { backendCluster, clusterOfCollector, collectorOf, type Collector, type CollectorName } from './open-telemetry.ts';

const FROM = { mesh: 'default', zone: 'east', namespace: '' };
const collector = (openTelemetry: CollectorName, spec: JsonObject = {}, companion: string | null = null): Collector | null =>
  collectorOf(new MeshIndex('default', [make('MeshOpenTelemetryBackend', 'main', spec)]), openTelemetry, FROM, 'east', {
    companion,
  });

describe('a collector of the old form', () => {
  it.each<[string, { address: string; port: number } | null]>([
    ['otel:4000', { address: 'otel', port: 4000 }],
    ['otel', { address: 'otel', port: 4317 }],
    ['[::1]:4000', { address: '::1', port: 4000 }],
    ['', null],
    ['://', null],
    ['http://otel:4000', null],
    ['otel:71000', null],
  ])('«%s» is at %j', (endpoint, expected) => {
    const found = { name: endpoint === 'otel' ? 'otel:4317' : endpoint, protocol: 'grpc', path: '', pipe: null };
    expect(collector({ endpoint })).toEqual(expected === null ? null : { ...found, ...expected });
  });
});

describe('a collector of a MeshOpenTelemetryBackend', () => {
  const openTelemetry = { backendRef: { kind: 'MeshOpenTelemetryBackend', name: 'main' } };
  const grpc = { name: 'main', protocol: 'grpc', address: '127.0.0.1', port: 4317, path: '', pipe: null };

  it.each<[JsonObject, Partial<Collector>]>([
    [{}, {}],
    [{ endpoint: { address: 'otel', port: 4000, path: '/a' } }, { address: 'otel', port: 4000 }],
    [{ protocol: 'http' }, { protocol: 'http', port: 4318 }],
    [
      { protocol: 'http', endpoint: { path: '/a//' } },
      { protocol: 'http', port: 4318, path: '/a' },
    ],
    [
      { protocol: 'http', endpoint: { path: '//' } },
      { protocol: 'http', port: 4318, path: '' },
    ],
  ])('of %j has %j, else the defaults', (spec, expected) => {
    expect(collector(openTelemetry, spec)).toEqual({ ...grpc, ...expected });
  });

  it('is reached through the pipe of the program beside the proxy', () => {
    expect(collector(openTelemetry, {}, '/run')).toEqual({ ...grpc, pipe: '/run/kuma-otel-main.sock' });
  });

  it('has its KRI as its name, and no pipe, where a reference by its display name means another one', () => {
    const [global, zonal] = [
      make('MeshOpenTelemetryBackend', 'main', { endpoint: { address: 'global' } }, { labels: { team: 'a' } }),
      make('MeshOpenTelemetryBackend', 'main', { endpoint: { address: 'zonal' } }, { zone: 'east', labels: { team: 'b' } }),
    ];
    const named = (age: number, team: string): string[] => {
      const index = new MeshIndex('default', [
        { ...global, creationTime: new Date(0) },
        { ...zonal, name: 'main-of-east', creationTime: new Date(age) },
      ]);
      const backendRef = { kind: 'MeshOpenTelemetryBackend', labels: { team } };
      const found = collectorOf(index, { backendRef }, FROM, 'east', { companion: '/run' });
      return [found?.address ?? '', found?.name ?? '', found?.pipe ?? 'no pipe'];
    };
    for (const age of [1, -1])
      expect([named(age, 'a'), named(age, 'b')]).toEqual([
        ['global', 'kri_motb_default___main_', 'no pipe'],
        ['zonal', 'main', '/run/kuma-otel-main.sock'],
      ]);
  });

  it('of its own zone keeps its name and its pipe when a reference by name means it, also beside an older one of global', () => {
    const backend = (zone: string | undefined, at: number) => ({
      ...make(
        'MeshOpenTelemetryBackend',
        'main',
        { endpoint: { address: zone ?? 'global' } },
        zone === undefined ? {} : { zone },
      ),
      ...{ name: `main-${zone ?? 'global'}`, creationTime: new Date(at) },
    });
    const index = new MeshIndex('default', [backend(undefined, 0), backend('east', 1)]);
    const found = collectorOf(index, openTelemetry, FROM, 'east', { companion: '/run' });
    expect(found).toMatchObject({ address: 'east', name: 'main', pipe: '/run/kuma-otel-main.sock' });
  });

  it('is none where the reference means nothing', () => {
    expect(collector({ backendRef: { kind: 'MeshOpenTelemetryBackend', name: 'other' } })).toBeNull();
  });
});

it('a cluster of a name asks DNS, and one of an address or a pipe does not', () => {
  expect(backendCluster('c', { address: 'otel', port: 1 })['type']).toBe('STRICT_DNS');
  for (const at of [{ address: '10.0.0.1', port: 1 }, { address: '::1', port: 1 }, { pipe: '/a' }])
    expect(backendCluster('c', at)['type']).toBe('STATIC');
});

it.each<[Partial<Collector>, string]>([
  [{ protocol: 'grpc', pipe: null }, 'http2ProtocolOptions'],
  [{ protocol: 'http', pipe: null }, 'httpProtocolOptions'],
  // The program beside the proxy takes gRPC alone.
  [{ protocol: 'http', pipe: '/a' }, 'http2ProtocolOptions'],
])('the cluster of a collector with %j has %s', (fields, expected) => {
  const cluster = clusterOfCollector('c', {
    name: 'c',
    protocol: 'grpc',
    address: 'a',
    port: 1,
    path: '',
    pipe: null,
    ...fields,
  });
  const [options] = Object.values(cluster['typedExtensionProtocolOptions'] as Record<string, JsonObject>);
  expect(options?.['explicitHttpConfig']).toEqual({ [expected]: {} });
});
