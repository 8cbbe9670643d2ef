// Whom a proxy trusts, what it shows of itself, and when it may demand a certificate.
import { describe, expect, it } from 'vitest';
import { cartOf, identity, trustOf } from '../../test/xds/crossing-mesh.ts';
import { make } from '../../test/policy/make-resource.ts';
import { MeshIndex } from '../policy/mesh-index.ts';
import { withDemandedTls } from '../policy/demanded-tls.ts';
import { objectOf } from '../resource/read-json.ts';
import type { JsonObject, Resource } from '../resource/types.ts';
import {
  certifiedIdentity,
  clientSocket,
  isTrusted,
  proxyTls,
  meshClients,
  serverSocket,
  offeredParams,
  tlsParams,
  trustedBundle,
  trustBundleSecret,
} from './proxy-tls.ts';

type TlsBounds = Parameters<typeof tlsParams>[0];

const web = make(
  'Dataplane',
  'web',
  { networking: { address: '10.0.0.1', inbound: [{ port: 80 }] } },
  { zone: 'east', labels: { app: 'cart', 'kuma.io/workload': 'web' } },
);

const strictWeb: Resource = { ...web, status: withDemandedTls({}, true) };
/** Its status says nothing yet. */
const other: Resource = { ...cartOf('east', {}, {}), name: 'other.east' };

function meshOf(...rows: Resource[]) {
  const index = new MeshIndex('default', [web, ...rows]);
  const [proxy] = index.proxies();
  if (proxy === undefined) throw new Error('the mesh has no Dataplane');
  return { index, proxy };
}

describe('a proxy', () => {
  it.each<[what: string, rows: Resource[], isCertified: boolean]>([
    ['without a MeshIdentity', [trustOf('east')], false],
    ['without any MeshTrust', [identity], false],
    ['whose trust domain no MeshTrust has', [identity, trustOf('west')], false],
    ['whose trust domain is trusted', [identity, trustOf('west'), trustOf('east')], true],
  ])('%s', (_, rows, isCertified) => {
    const { index, proxy } = meshOf(...rows);
    expect(certifiedIdentity(index, proxy) !== null).toBe(isCertified);
    const trustDomains = ['default.east.mesh.local', 'default.west.mesh.local'];
    expect(proxyTls(index, proxy)).toEqual(
      isCertified ? { identity: 'kri_mid_default_east__all_', trustDomains, maySayStrict: true } : null,
    );
  });

  it.each<[what: string, rows: Resource[], maySayStrict: boolean]>([
    ['all services that select it say that no client calls in plain text', [cartOf('east', {}, { enforced: true })], true],
    ['a service that selects it does not say so', [cartOf('east', {}, { enforced: false })], false],
    ['one of two does not', [cartOf('east', {}, { enforced: true }), other], false],
    ['one of two does not, and it demanded one before', [cartOf('east', {}, { enforced: true }), other, strictWeb], true],
    [
      'a service of other proxies does not',
      [cartOf('east', { selector: { dataplaneLabels: { matchLabels: { app: 'x' } } } })],
      true,
    ],
  ])('demands a certificate, or not, where %s', (_, rows, maySayStrict) => {
    const { index, proxy } = meshOf(identity, trustOf('east'), ...rows);
    expect(proxyTls(index, proxy)?.maySayStrict).toBe(maySayStrict);
  });
});

describe('the trust of a mesh', () => {
  it('is about whole trust domains', () => {
    const { index } = meshOf(trustOf('east'));
    const ids = [
      'spiffe://default.east.mesh.local/workload/a',
      'spiffe://default.east.mesh.local.evil/a',
      'default.east.mesh.local/a',
    ];
    expect(ids.map((id) => isTrusted(index, id))).toEqual([true, false, false]);
  });

  it('is a secret with each trust domain, and none without a MeshTrust', () => {
    expect(trustBundleSecret(meshOf().index)).toBeNull();
    const { index } = meshOf(trustOf('east'), trustOf('west'));
    const names = JSON.stringify(trustBundleSecret(index)).matchAll(/"name":"(default\.[^"]+)"/g);
    expect([...names].map(([, name]) => name)).toEqual(['default.east.mesh.local', 'default.west.mesh.local']);
  });

  it('has another id after each change of a MeshTrust, and the same for the same certificates', () => {
    const { index } = meshOf(trustOf('east'));
    const before = trustedBundle(index);
    index.put(trustOf('west'));
    expect(trustedBundle(index)).not.toBe(before);
    index.remove(trustOf('west'));
    expect(trustedBundle(index)).toBe(before);
  });
});

describe('a transport socket', () => {
  const tls = { identity: 'id', trustDomains: ['a', 'b'], maySayStrict: true };
  const contextOf = (socket: JsonObject) => socket['typedConfig'];

  it('of a server takes clients with a certificate of a trusted domain', () => {
    expect(contextOf(serverSocket(tls, null, meshClients(tls)))).toMatchObject({
      '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext',
      requireClientCertificate: true,
      commonTlsContext: {
        combinedValidationContext: {
          defaultValidationContext: {
            matchTypedSubjectAltNames: [
              { sanType: 'URI', matcher: { prefix: 'spiffe://a/' } },
              { sanType: 'URI', matcher: { prefix: 'spiffe://b/' } },
            ],
          },
        },
      },
    });
  });

  it('names no domain where the bundle says who may come', () => {
    expect(contextOf(serverSocket(tls, null, []))).toMatchObject({
      commonTlsContext: { combinedValidationContext: { defaultValidationContext: {} } },
    });
    expect(JSON.stringify(serverSocket(tls, null, []))).not.toContain('matchTypedSubjectAltNames');
  });

  it('of a client names the servers that it takes, and what it asks for', () => {
    expect(
      contextOf(clientSocket(tls, { ids: ['spiffe://a/cart'], sni: 'cart', params: { cipherSuites: ['X'] } })),
    ).toMatchObject({
      '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext',
      sni: 'cart',
      commonTlsContext: {
        alpnProtocols: ['kuma'],
        tlsParams: { cipherSuites: ['X'] },
        combinedValidationContext: {
          defaultValidationContext: { matchTypedSubjectAltNames: [{ sanType: 'URI', matcher: { exact: 'spiffe://a/cart' } }] },
        },
      },
    });
  });

  it('has for each RSA cipher the ECDSA one, because certificates are ECDSA', () => {
    const [rsa, ecdsa] = ['ECDHE-RSA-AES128-GCM-SHA256', 'ECDHE-ECDSA-AES128-GCM-SHA256'];
    const params = (...cipherSuites: string[]): JsonObject => ({ tlsMinimumProtocolVersion: 'TLSv1_2', cipherSuites });
    const taken = (...ciphers: string[]): unknown[] =>
      [serverSocket(tls, params(...ciphers), []), clientSocket(tls, { ids: [], sni: 'a', params: params(...ciphers) })].map(
        (socket) => objectOf(objectOf(contextOf(socket))['commonTlsContext'])['tlsParams'],
      );
    expect(taken(rsa)).toEqual([params(rsa, ecdsa), params(rsa, ecdsa)]);
    expect(taken(ecdsa, rsa)).toEqual([params(ecdsa, rsa), params(ecdsa, rsa)]);
    expect(taken(ecdsa)).toEqual([params(ecdsa), params(ecdsa)]);
  });
});

const OLD_CIPHERS = [
  ...['ECDHE-ECDSA-AES128-SHA', 'ECDHE-RSA-AES128-SHA', 'AES128-SHA'],
  ...['ECDHE-ECDSA-AES256-SHA', 'ECDHE-RSA-AES256-SHA', 'AES256-SHA'],
];

describe('a client offers', () => {
  const usual = { tlsMinimumProtocolVersion: 'TLSv1_2', tlsMaximumProtocolVersion: 'TLSv1_3' };

  it.each<[TlsBounds]>([
    [{}],
    [{ tlsVersion: { min: 'TLS12', max: 'TLS12' } }],
    [{ tlsVersion: { min: 'TLS13', max: 'TLS13' } }],
    [{ tlsVersion: { min: 'TLSAuto', max: 'TLSAuto' } }],
    [{ tlsCiphers: ['ECDHE-RSA-AES128-GCM-SHA256'] }],
  ])('the same with %j', (conf) => {
    expect(offeredParams(conf)).toEqual(usual);
  });

  it.each(['min', 'max'])('older versions and their ciphers where `%s` asks for one', (bound) => {
    const { cipherSuites, ...versions } = offeredParams({ tlsVersion: { [bound]: 'TLS11' } });
    expect(versions).toEqual({ ...usual, tlsMinimumProtocolVersion: 'TLSv1_1' });
    expect(cipherSuites).toEqual(expect.arrayContaining(['ECDHE-ECDSA-AES256-GCM-SHA384', ...OLD_CIPHERS]));
  });
});

it.each<[TlsBounds, JsonObject | null]>([
  [{}, null],
  [{ tlsVersion: { min: 'TLSAuto', max: 'TLS14' }, tlsCiphers: [] }, null],
  [{ tlsVersion: { min: 'TLS10' } }, { tlsMinimumProtocolVersion: 'TLSv1_0' }],
  [{ tlsVersion: { min: 'TLS12', max: 'TLSAuto' } }, { tlsMinimumProtocolVersion: 'TLSv1_2' }],
  [{ tlsVersion: { max: 'TLS12' } }, { tlsMaximumProtocolVersion: 'TLSv1_2' }],
  [{ tlsCiphers: ['A'] }, { tlsMaximumProtocolVersion: 'TLSv1_2', cipherSuites: ['A'] }],
  [{ tlsVersion: { max: 'TLS13' } }, { tlsMaximumProtocolVersion: 'TLSv1_3' }],
  [{ tlsVersion: { min: 'TLS13' } }, { tlsMinimumProtocolVersion: 'TLSv1_3', tlsMaximumProtocolVersion: 'TLSv1_3' }],
  [
    { tlsVersion: { min: 'TLS13', max: 'TLSAuto' } },
    { tlsMinimumProtocolVersion: 'TLSv1_3', tlsMaximumProtocolVersion: 'TLSv1_3' },
  ],
  [
    { tlsVersion: { min: 'TLSAuto', max: 'TLS11' }, tlsCiphers: ['A'] },
    {
      ...{ tlsMinimumProtocolVersion: 'TLSv1_1', tlsMaximumProtocolVersion: 'TLSv1_1' },
      cipherSuites: ['A', ...OLD_CIPHERS],
    },
  ],
  [
    { tlsVersion: { min: 'TLS10', max: 'TLS11' } },
    { tlsMinimumProtocolVersion: 'TLSv1_0', tlsMaximumProtocolVersion: 'TLSv1_1', cipherSuites: OLD_CIPHERS },
  ],
  [
    { tlsVersion: { min: 'TLS12', max: 'TLS13' }, tlsCiphers: ['A'] },
    { tlsMinimumProtocolVersion: 'TLSv1_2', tlsMaximumProtocolVersion: 'TLSv1_3', cipherSuites: ['A'] },
  ],
])('the TLS versions and ciphers of %j are %j', (conf, params) => {
  expect(tlsParams(conf)).toEqual(params);
});
