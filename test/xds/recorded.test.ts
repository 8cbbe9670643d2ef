// Proxies get what real ones were recorded to get, but for the differences that recorded/README.md names.
import { describe, expect, it } from 'vitest';
import { envoyBinaryToJson } from '../../src/wire/binary-to-json.ts';
import { envoyJsonToBinary } from '../../src/wire/json-to-binary.ts';
import { caseNames, configOf, expected, plain, readCase } from './recorded-case.ts';

describe.each(caseNames())('recorded case %s', (name) => {
  const recorded = readCase(name);

  it.each([...recorded.proxies])('configures proxy $file as recorded', (proxy) => {
    expect(plain(configOf(proxy))).toEqual(expected(recorded, proxy));
  });

  it.each([...recorded.proxies])('encodes the resources of proxy $file and reads them back', (proxy) => {
    const { clusters, assignments, listeners, routes, secrets } = configOf(proxy);
    for (const [message, resources] of [
      ['envoy.config.cluster.v3.Cluster', clusters],
      ['envoy.config.endpoint.v3.ClusterLoadAssignment', assignments],
      ['envoy.config.listener.v3.Listener', listeners],
      ['envoy.config.route.v3.RouteConfiguration', routes],
      ['envoy.extensions.transport_sockets.tls.v3.Secret', secrets],
    ] as const)
      for (const resource of resources.values())
        expect(envoyBinaryToJson(message, envoyJsonToBinary(message, resource))).toEqual(resource);
  });
});
