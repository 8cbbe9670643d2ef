// The documents of kuma-dp, and the listener that serves them.
import { describe, expect, it } from 'vitest';
import { MeshIndex } from '../policy/mesh-index.ts';
import type { JsonObject, Resource } from '../resource/types.ts';
import { makeRow } from '../../test/support/make-row.ts';
import { shopRows } from '../../test/xds/shop-mesh.ts';
import { dnsDocument, documentsListener, textOfDocument, withDocument, type CompanionDocument } from './companion-documents.ts';
import { proxyConfig } from './proxy-config.ts';
import { proxyFeatures } from './proxy-features.ts';

/** The listener with the documents of the first proxy with such metadata. */
function documentsOf(metadata: Record<string, string>, rows: readonly Resource[] = shopRows): string | undefined {
  const index = new MeshIndex('default', rows);
  const [proxy] = index.proxies();
  if (proxy === undefined) throw new Error('no proxy');
  const features = proxyFeatures({ workdir: '/run', features: ['feature-otel-via-kuma-dp'], ...metadata }, proxy.resource);
  return JSON.stringify(proxyConfig(index, proxy, features).listeners.get('system_dynamicconfig'));
}

const ANSWERS_NAMES = { 'dataplane.dns.port': '15053' };

/** The services of the recorded zone, and a redirected proxy. */
function recordedRows(transparentProxying: JsonObject): Resource[] {
  const labels = { 'kuma.io/zone': 'zone-1' };
  const service = (type: string, name: string, spec: JsonObject, vip: JsonObject, hostnames: readonly string[]): Resource =>
    makeRow(type, name, { labels, spec, status: { ...vip, addresses: hostnames.map((hostname) => ({ hostname })) } });
  const of = (port: number): JsonObject => ({ ports: [{ port }] });
  const networking = {
    ...{ address: '127.0.31.1', inbound: [{ port: 8080 }] },
    transparentProxying: { redirectPortInbound: 15006, redirectPortOutbound: 15001, ...transparentProxying },
  };
  return [
    makeRow('Dataplane', 'web', { labels, spec: { networking } }),
    service('MeshService', 'cart', of(8080), { vips: [{ ip: '241.0.0.1' }] }, ['cart.svc.mesh.local']),
    service('MeshService', 'catalog', of(80), { vips: [{ ip: '241.0.0.0' }] }, ['catalog.svc.mesh.local']),
    service('MeshMultiZoneService', 'catalog-all', of(80), { vips: [{ ip: '243.0.0.0' }] }, ['catalog-all.mz.example']),
    service('MeshExternalService', 'payments', { match: { port: 443 } }, { vip: { ip: '242.0.0.0' } }, [
      'payments.extsvc.mesh.local',
      'payments.ext.example',
    ]),
  ];
}

describe('the names of kuma-dp', () => {
  it.each([
    [
      'with the IPv4-mapped form of each address',
      {},
      '{"records":[{"name":"cart.svc.mesh.local","ips":["241.0.0.1","::ffff:f100:1"]},{"name":"catalog-all.mz.example","ips":["243.0.0.0","::ffff:f300:0"]},{"name":"catalog.svc.mesh.local","ips":["241.0.0.0","::ffff:f100:0"]},{"name":"payments.ext.example","ips":["242.0.0.0","::ffff:f200:0"]},{"name":"payments.extsvc.mesh.local","ips":["242.0.0.0","::ffff:f200:0"]}],"ttl":30,"extraLabels":{"kuma_io_zone":"zone-1","mesh":"default"}}',
    ],
    [
      'of IPv4 alone',
      { ipFamilyMode: 'IPv4' },
      '{"records":[{"name":"cart.svc.mesh.local","ips":["241.0.0.1"]},{"name":"catalog-all.mz.example","ips":["243.0.0.0"]},{"name":"catalog.svc.mesh.local","ips":["241.0.0.0"]},{"name":"payments.ext.example","ips":["242.0.0.0"]},{"name":"payments.extsvc.mesh.local","ips":["242.0.0.0"]}],"ttl":30,"extraLabels":{"kuma_io_zone":"zone-1","mesh":"default"}}',
    ],
    [
      'that a proxy reaches',
      { reachableBackends: { refs: [{ kind: 'MeshService', name: 'catalog' }] } },
      '{"records":[{"name":"catalog.svc.mesh.local","ips":["241.0.0.0","::ffff:f100:0"]}],"ttl":30,"extraLabels":{"kuma_io_zone":"zone-1","mesh":"default"}}',
    ],
    [
      'that a proxy reaches: none',
      { reachableBackends: { refs: [] } },
      '{"records":[],"ttl":30,"extraLabels":{"kuma_io_zone":"zone-1","mesh":"default"}}',
    ],
  ])('are as Kuma gives them, %s', (_, transparentProxying, recorded) => {
    expect(documentsOf(ANSWERS_NAMES, recordedRows(transparentProxying))).toContain(JSON.stringify(recorded));
  });

  it('are none where no connections are redirected', () => {
    expect(documentsOf(ANSWERS_NAMES)).toContain(String.raw`{\"records\":[],\"ttl\":30,`);
  });

  it.each([{}, { 'dataplane.dns.port': '0' }])('are not there, if nothing asks for them: %j', (metadata) => {
    expect(documentsOf(metadata)).toBeUndefined();
  });
});

describe('the listener of the documents', () => {
  const metric: CompanionDocument = { kind: 'meshmetric', content: { observability: 'x'.repeat(200) } };
  const names = (count: number): CompanionDocument => {
    const all = Array.from({ length: count }, (_, at) => ({ hostname: `a${String(at)}`, addresses: ['241.0.0.1'], places: [] }));
    return dnsDocument(all, { mesh: 'shop', zone: 'east', hasIpv6: false });
  };

  it.each([0, 1, 100])('is the same when the names come later: %i', (count) => {
    const before = documentsListener('/run', [metric, names(0)]);
    expect(withDocument(before, textOfDocument(names(count)))).toEqual(documentsListener('/run', [metric, names(count)]));
  });

  it('keeps what a policy has changed in it', () => {
    const patched = { ...documentsListener('/run', [names(0)]), perConnectionBufferLimitBytes: 4096 };
    const after = withDocument(patched, textOfDocument(names(1)));
    expect(after).toEqual({ ...documentsListener('/run', [names(1)]), perConnectionBufferLimitBytes: 4096 });
  });
});
