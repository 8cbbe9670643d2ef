// Proxies get exactly the configuration that a person has read. `vitest -u` writes the expected files: read their difference.
import { expect, it } from 'vitest';
import { envoyBinaryToJson } from '../../src/wire/binary-to-json.ts';
import { envoyJsonToBinary } from '../../src/wire/json-to-binary.ts';
import { plain } from './recorded-case.ts';
import { writtenProxies } from './written-cases.ts';

it.each(writtenProxies())('configures $name as written', async ({ config, expected }) => {
  const text = JSON.stringify({ ...(plain(config) as object), problems: config.problems }, null, 1);
  await expect(`${text}\n`).toMatchFileSnapshot(expected);
});

it.each(writtenProxies())('encodes the resources of $name and reads them back', ({ config }) => {
  for (const [message, resources] of [
    ['envoy.config.cluster.v3.Cluster', config.clusters],
    ['envoy.config.listener.v3.Listener', config.listeners],
    ['envoy.config.route.v3.RouteConfiguration', config.routes],
  ] as const)
    for (const resource of resources.values())
      expect(envoyBinaryToJson(message, envoyJsonToBinary(message, resource))).toEqual(resource);
});
