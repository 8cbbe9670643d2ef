import { describe, expect, it } from 'vitest';
import { MeshIndex } from '../policy/mesh-index.ts';
import { shopRows } from '../../test/xds/shop-mesh.ts';
import { proxyConfig } from './proxy-config.ts';
import { proxyFeatures } from './proxy-features.ts';

/** The listener with the documents of a proxy with such metadata. */
function documentsOf(metadata: Record<string, string>): string | undefined {
  const index = new MeshIndex('default', shopRows);
  const [proxy] = index.proxies();
  if (proxy === undefined) throw new Error('no proxy');
  const features = proxyFeatures({ workdir: '/run', features: ['feature-otel-via-kuma-dp'], ...metadata }, proxy.resource);
  return JSON.stringify(proxyConfig(index, proxy, features).listeners.get('system_dynamicconfig'));
}

describe('the documents of kuma-dp', () => {
  it('say that there are no names, if kuma-dp answers names', () => {
    expect(documentsOf({ 'dataplane.dns.port': '15053' })).toContain(JSON.stringify('{"records":[],"ttl":30}'));
  });

  it.each([{}, { 'dataplane.dns.port': '0' }])('are not there, if nothing asks for them: %j', (metadata) => {
    expect(documentsOf(metadata)).toBeUndefined();
  });
});
