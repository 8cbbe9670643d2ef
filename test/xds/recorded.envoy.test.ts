// A real Envoy takes what the proxies of the recorded and of the written cases are sent.
import { expect, inject, it } from 'vitest';
import { MeshIndex } from '../../src/policy/mesh-index.ts';
import { proxyConfig } from '../../src/xds/proxy-config.ts';
import { WITHOUT_FEATURES } from '../../src/xds/proxy-features.ts';
import { validate } from '../support/envoy.ts';
import { cartOf, crossingRows, waitingCart } from './crossing-mesh.ts';
import { caseNames, configOf, readCase } from './recorded-case.ts';
import { writtenProxies } from './written-cases.ts';

it.each([
  ['of other zones alone', [cartOf('east', {}, { status: 'NotReady' })]],
  ['of other zones and of some servers here', waitingCart],
])('takes a cluster whose endpoints %s have TLS', async (_, rows) => {
  const index = new MeshIndex('default', [...crossingRows, ...rows]);
  const configs = [...index.proxies()].map((proxy) => ({
    name: proxy.displayName,
    config: proxyConfig(index, proxy, WITHOUT_FEATURES),
  }));
  expect(await validate(inject('envoy'), configs)).toEqual([]);
});

it('accepts the configuration of every proxy of the cases', async () => {
  const recorded = caseNames().flatMap((name) =>
    readCase(name).proxies.map((proxy) => ({ name: `${name}-${proxy.file.replace('/', '-')}`, config: configOf(proxy) })),
  );
  expect(recorded.length).toBeGreaterThan(20);
  expect(await validate(inject('envoy'), [...recorded, ...writtenProxies()])).toEqual([]);
});
