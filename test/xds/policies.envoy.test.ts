// What a PUT accepts, Envoy accepts.
import { describe, expect, inject, it } from 'vitest';
import { ResourceEncoder } from '../../src/ads/encode-resources.ts';
import { MeshIndex } from '../../src/policy/mesh-index.ts';
import { resourceTypes } from '../../src/resource/type-registry.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import type { ProxyConfig } from '../../src/xds/proxy-context.ts';
import { proxyConfig } from '../../src/xds/proxy-config.ts';
import { make } from '../policy/make-resource.ts';
import { validate } from '../support/envoy.ts';
import { fc } from '../support/property.ts';
import { isFull } from '../support/test-size.ts';
import { acceptedSpec } from './arbitrary-policy.ts';
import { FEATURES, shopRows, transparentShopRows } from './shop-mesh.ts';

/** Each push tries the same policies: a new fault of an old schema is found at full size, where the seed is a new one. */
const SEED = isFull ? {} : { seed: 1 };
/** Policies of each type. */
const BATCH = isFull ? 200 : 40;

function configWith(type: string, spec: JsonObject): ProxyConfig {
  const rows = type === 'MeshPassthrough' || type === 'MeshAccessLog' ? transparentShopRows : shopRows;
  const index = new MeshIndex('default', [...rows, make(type, 'random', spec)]);
  const [proxy] = index.proxies();
  if (proxy === undefined) throw new Error('the mesh has no proxy');
  return proxyConfig(index, proxy, FEATURES);
}

/** Specs of these types with why Envoy, or its API, refuses them. */
async function refused(policies: readonly (readonly [string, JsonObject])[]): Promise<unknown[]> {
  const encoder = new ResourceEncoder();
  const configs = policies.map(([type, spec], at) => ({ name: `c${String(at)}`, type, spec, config: configWith(type, spec) }));
  const unencodable = configs.flatMap(({ type, spec, config }) => {
    const { problems } = encoder.part({ ...config, problems: [] });
    return problems.length === 0 ? [] : [{ type, spec, reason: problems }];
  });
  const refusals = await validate(inject('envoy'), configs);
  return [
    ...unencodable,
    ...refusals.map(({ name, reason }) => {
      const { type, spec } = configs.find((config) => config.name === name) ?? {};
      return { type, spec, reason: reason.slice(-400) };
    }),
  ];
}

const types = resourceTypes.flatMap(({ name, policy }) => (policy === null || name === 'MeshProxyPatch' ? [] : [name]));

describe('a policy that a PUT accepts', () => {
  it.each(types)('becomes configuration that Envoy accepts: %s', async (type) => {
    const batch = fc.array(acceptedSpec(type), { minLength: BATCH, maxLength: BATCH });
    await fc.assert(
      fc.asyncProperty(batch, async (specs) => {
        expect(await refused(specs.map((spec) => [type, spec] as const))).toEqual([]);
      }),
      { numRuns: 1, endOnFailure: true, ...SEED },
    );
  });
});
