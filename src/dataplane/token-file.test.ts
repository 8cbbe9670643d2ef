import { describe, expect, it } from 'vitest';
import { objectOf, objectsOf } from '../resource/read-json.ts';
import type { JsonObject } from '../resource/types.ts';
import { readsTokenFile, withTokenFile } from './token-file.ts';

const HTTP = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions';

function bootstrap(initialMetadata: JsonObject[]): JsonObject {
  const grpcServices = [{ envoyGrpc: { clusterName: 'ads' }, initialMetadata }];
  const options = { '@type': 'x', explicitHttpConfig: { http2ProtocolOptions: {} } };
  return {
    dynamicResources: { adsConfig: { grpcServices } },
    hdsConfig: { apiType: 'GRPC', grpcServices },
    staticResources: { clusters: [{ name: 'other' }, { name: 'ads', typedExtensionProtocolOptions: { [HTTP]: options } }] },
  };
}

describe('a bootstrap with the token in a file', () => {
  it('adds the token of the file to the cluster of the configuration stream, and to no other', () => {
    const before = bootstrap([{ key: 'authorization', value: 'a.b.c' }]);
    const after = withTokenFile(before, '/run/token.json');
    const [other, ads] = objectsOf(objectOf(after['staticResources'])['clusters']);
    expect(other).toEqual({ name: 'other' });
    const { httpFilters, ...options } = objectOf(objectOf(ads?.['typedExtensionProtocolOptions'])[HTTP]);
    expect(options).toEqual({ '@type': 'x', explicitHttpConfig: { http2ProtocolOptions: {} } });
    expect(JSON.stringify(httpFilters)).toContain('"pathConfigSource":{"path":"/run/token.json"}');
    // The codec is the last filter, or Envoy refuses the cluster.
    expect(objectsOf(httpFilters).map(({ name }) => name)).toEqual([
      'envoy.filters.http.credential_injector',
      'envoy.filters.http.upstream_codec',
    ]);
    for (const key of ['dynamicResources', 'hdsConfig']) expect(after[key]).toEqual(bootstrap([])[key]);
    expect(JSON.stringify(after)).not.toContain('a.b.c');
  });

  it.each([
    ['shows no token', bootstrap([])],
    ['has another form', { node: {} }],
  ])('stays as it is if it %s', (_, before) => {
    expect(withTokenFile(before, '/run/token.json')).toEqual(before);
  });

  it.each([
    ['1.40.0', true],
    ['1.33.2', true],
    ['2.0.0', true],
    ['1.32.9', false],
    ['', false],
  ])('is for an Envoy %j: %s', (version, expected) => {
    expect(readsTokenFile(version)).toBe(expected);
  });
});
