// The endpoints of an external service and the TLS that is spoken to it, as its row says.
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { make } from '../../test/policy/make-resource.ts';
import { createSelfSigned } from '../base/self-signed.ts';
import { MeshIndex } from '../policy/mesh-index.ts';
import { objectOf, objectsOf } from '../resource/read-json.ts';
import type { JsonObject, Resource } from '../resource/types.ts';
import { outsideCluster } from './cluster.ts';
import type { ConfigProblem } from './config-problem.ts';
import { externalCluster } from './external-cluster.ts';
import { FROM_ADS } from '../envoy/proto-json.ts';
import { WITHOUT_FEATURES } from './proxy-features.ts';

const SYSTEM_CA = '/etc/ca.pem';
const bank = (spec: JsonObject): Resource =>
  make('MeshExternalService', 'bank', {
    match: { type: 'HostnameGenerator', port: 443, protocol: 'tcp' },
    endpoints: [{ address: 'bank.example', port: 443 }],
    ...spec,
  });
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const [{ certPem: PEM, keyPem: KEY }, OTHER] = await Promise.all([
  createSelfSigned('client', ['one'], new Date()),
  createSelfSigned('client', ['other'], new Date()),
]);

function clusterOf(spec: JsonObject, { systemCa = SYSTEM_CA, ipv6 = false }: { systemCa?: string | null; ipv6?: boolean } = {}) {
  const problems: ConfigProblem[] = [];
  const index = new MeshIndex('default', [
    make('Secret', 'stored', { data: base64(PEM) }),
    make('Secret', 'key', { data: base64(KEY) }),
    make('Secret', 'empty', { data: '' }),
    make('Secret', 'all-root-ca', { data: base64(PEM) }),
    make('Secret', 'all-private-key', { data: base64(KEY) }),
    make('Secret', 'dataplane-token-signing-key-default-1', { data: base64(PEM) }),
    make('Secret', 'text', { data: base64('no certificate') }),
  ]);
  const features = { ...WITHOUT_FEATURES, systemCa, ipv6 };
  const report = (problem: ConfigProblem): void => void problems.push(problem);
  const context = { index, features, kri: 'kri', settings: outsideCluster('tcp'), report };
  const { cluster, keys } = externalCluster('egress:bank', bank(spec), context);
  return { cluster, keys, problems, fields: problems.map(({ field }) => field) };
}

/** The TLS of the first address. */
function tlsOf(tls: JsonObject, endpoints?: JsonObject[]): JsonObject {
  const { cluster } = clusterOf({ tls: { enabled: true, ...tls }, ...(endpoints !== undefined && { endpoints }) });
  const [first] = objectsOf(cluster['transportSocketMatches']);
  return objectOf(objectOf(first?.['transportSocket'])['typedConfig']);
}
const contextOf = (verification: JsonObject): JsonObject =>
  objectOf(objectOf(tlsOf({ verification })['commonTlsContext'])['validationContext']);
const namesOf = (verification: JsonObject): string[] =>
  objectsOf(contextOf(verification)['matchTypedSubjectAltNames']).map(({ sanType, matcher }) => {
    const { exact, prefix } = objectOf(matcher);
    return `${String(sanType)} ${exact === undefined ? `${String(prefix)}*` : String(exact)}`;
  });

/** Whether a text shows the key, plain or in base64. */
const hasKey = (text: string): boolean => text.includes('PRIVATE KEY') || text.includes(base64(KEY).slice(40, 80));

describe('the endpoints', () => {
  it.each<[what: string, endpoints: JsonObject[], type: string, family: unknown]>([
    ['names are looked up', [{ address: 'a.example', port: 1 }], 'STRICT_DNS', 'V4_ONLY'],
    [
      'one name is enough',
      [
        { address: '10.0.0.1', port: 1 },
        { address: 'a.example', port: 1 },
      ],
      'STRICT_DNS',
      'V4_ONLY',
    ],
    [
      'addresses are not looked up',
      [
        { address: '10.0.0.1', port: 1 },
        { address: '::1', port: 1 },
      ],
      'STATIC',
      undefined,
    ],
  ])('%s', (_, endpoints, type, family) => {
    const { cluster } = clusterOf({ endpoints });
    expect([cluster['type'], cluster['dnsLookupFamily'], cluster['transportSocketMatches']]).toEqual([type, family, undefined]);
    expect(clusterOf({ endpoints }, { ipv6: true }).cluster['dnsLookupFamily']).toBeUndefined();
  });
});

describe('the certificate of the server', () => {
  it.each<[what: string, verification: JsonObject, names: string[]]>([
    ['has the address', {}, ['DNS bank.example', 'IP_ADDRESS bank.example']],
    ['has the server name', { serverName: 'b' }, ['DNS b', 'IP_ADDRESS b']],
    [
      'has one of the written names',
      {
        subjectAltNames: [
          { type: 'Exact', value: 'x' },
          { type: 'Prefix', value: 'y.' },
        ],
      },
      ['DNS x', 'DNS y.*', 'IP_ADDRESS x', 'IP_ADDRESS y.*'],
    ],
    [
      'has the server name or a written one',
      { serverName: 'b', subjectAltNames: [{ value: 'x' }] },
      ['DNS b', 'IP_ADDRESS b', 'DNS x', 'IP_ADDRESS x'],
    ],
    ['has any name with SkipSAN', { mode: 'SkipSAN', serverName: 'b' }, []],
  ])('%s', (_, verification, names) => {
    expect(namesOf(verification)).toEqual(names);
    expect(contextOf(verification)['trustedCa']).toEqual({ filename: SYSTEM_CA });
  });

  it.each(['SkipCA', 'SkipAll'])('is not checked with %s', (mode) => {
    expect(tlsOf({ verification: { mode } })['commonTlsContext']).toBeUndefined();
    expect(clusterOf({ tls: { enabled: true, verification: { mode } } }, { systemCa: null }).fields).toEqual([]);
  });

  it.each<[what: string, caCert: JsonObject]>([
    ['a text', { inlineString: PEM }],
    ['bytes', { inline: base64(PEM) }],
    ['a text that is marked insecure', { insecureInline: { value: PEM } }],
    ['a Secret', { secretRef: { kind: 'Secret', name: 'stored' } }],
    ['a Secret by name', { secret: 'stored' }],
  ])('is signed by an authority from %s', (_, caCert) => {
    expect(contextOf({ caCert })['trustedCa']).toEqual({ inlineBytes: base64(PEM) });
  });
});

describe('the TLS to a service', () => {
  it('is none unless it is enabled', () => {
    expect(clusterOf({ tls: { enabled: false } }).cluster).not.toHaveProperty('transportSocketMatches');
  });

  it('has the versions of TLS that the service takes, and those of Envoy where it says none', () => {
    const paramsOf = (tls: JsonObject): unknown => objectOf(tlsOf(tls)['commonTlsContext'])['tlsParams'];
    expect(paramsOf({ version: { min: 'TLS12', max: 'TLS13' } })).toEqual({
      tlsMinimumProtocolVersion: 'TLSv1_2',
      tlsMaximumProtocolVersion: 'TLSv1_3',
    });
    expect([paramsOf({}), paramsOf({ version: {} })]).toEqual([undefined, undefined]);
  });

  it('asks for the address or the server name, and renegotiates only where that is allowed', () => {
    expect(tlsOf({})).toMatchObject({ sni: 'bank.example' });
    expect(tlsOf({})).not.toHaveProperty('allowRenegotiation');
    expect(tlsOf({ verification: { serverName: 'b' }, allowRenegotiation: true })).toMatchObject({
      ...{ sni: 'b', allowRenegotiation: true },
    });
  });

  it('is one for all addresses with a server name, and one for each without', () => {
    const endpoints = ['a', 'b', 'a'].map((name) => ({ address: `${name}.example`, port: 443 }));
    const matchesOf = (verification: JsonObject, given = endpoints): unknown[] =>
      objectsOf(clusterOf({ endpoints: given, tls: { enabled: true, verification } }).cluster['transportSocketMatches']).map(
        ({ name, match }) => [name, match],
      );
    expect(matchesOf({ serverName: 'b' })).toEqual([['a.example', undefined]]);
    expect(matchesOf({}, endpoints.slice(0, 1))).toEqual([['a.example', undefined]]);
    expect(matchesOf({})).toEqual([
      ['a.example', { 'meridian.io/address': 'a.example' }],
      ['b.example', { 'meridian.io/address': 'b.example' }],
    ]);
  });

  it('shows a certificate with its key, and none with one of them alone', () => {
    const [clientCert, clientKey] = [{ inlineString: PEM }, { inlineString: KEY }];
    const { cluster, keys } = clusterOf({ tls: { enabled: true, verification: { clientCert, clientKey } } });
    expect(tlsOf({ verification: { clientCert, clientKey } })).toMatchObject({
      commonTlsContext: { tlsCertificateSdsSecretConfigs: [{ name: 'egress:key:kri', sdsConfig: FROM_ADS }] },
    });
    expect(JSON.stringify(cluster)).not.toContain(base64(PEM));
    expect(keys?.toSecret('k')).toEqual({
      ...{
        name: 'k',
        tlsCertificate: { certificateChain: { inlineBytes: base64(PEM) }, privateKey: { inlineBytes: base64(KEY) } },
      },
    });
    for (const verification of [{ clientCert }, { clientKey }]) {
      const without = clusterOf({ tls: { enabled: true, verification } });
      expect([without.keys, JSON.stringify(without.cluster).includes('tlsCertificate')]).toEqual([null, false]);
    }
  });

  it('takes certificates and a key from texts that hold both, and parts them', () => {
    const both = { insecureInline: { value: `${KEY}${PEM}${OTHER.keyPem}` } };
    const { cluster, keys } = clusterOf({
      tls: { enabled: true, verification: { caCert: both, clientCert: both, clientKey: both } },
    });
    expect(keys?.certPem).toBe(PEM);
    expect(contextOf({ caCert: both })['trustedCa']).toEqual({ inlineBytes: base64(PEM) });
    const shown = [
      JSON.stringify([cluster, keys]),
      JSON.stringify(keys?.toShown('k')),
      inspect([cluster, keys], { depth: null }),
    ];
    for (const text of shown) expect(hasKey(text)).toBe(false);
    expect(JSON.stringify(keys?.toSecret('k'))).toContain(base64(KEY));
  });

  it.each<[what: string, verification: JsonObject, field: string]>([
    ['an authority is missing', { caCert: { secret: 'none' } }, 'caCert'],
    ['an authority is no certificate', { caCert: { insecureInline: { value: 'no certificate' } } }, 'caCert'],
    ['an authority of an older form is no certificate', { caCert: { inline: base64('no certificate') } }, 'caCert'],
    ['the Secret of an authority is empty', { caCert: { secret: 'empty' } }, 'caCert'],
    ['the Secret of an authority holds no certificate', { caCert: { secret: 'text' } }, 'caCert'],
    ['a certificate is missing', { clientCert: { secret: 'none' }, clientKey: { secret: 'key' } }, 'clientCert'],
    ['a certificate cannot be read', { clientCert: { secret: 'text' }, clientKey: { secret: 'key' } }, 'clientCert'],
    ['a key is missing', { clientCert: { secret: 'stored' }, clientKey: { secretRef: { name: 'none' } } }, 'clientKey'],
    ['a key cannot be read', { clientCert: { secret: 'stored' }, clientKey: { inlineString: 'key' } }, 'clientKey'],
    [
      'a key is that of a MeshIdentity',
      { clientCert: { secret: 'stored' }, clientKey: { secretRef: { name: 'all-private-key' } } },
      'clientKey',
    ],
    ['a certificate is of the tokens', { caCert: { secretRef: { name: 'dataplane-token-signing-key-default-1' } } }, 'caCert'],
    ['a key is that of another', { clientCert: { secret: 'stored' }, clientKey: { inlineString: OTHER.keyPem } }, 'clientKey'],
  ])('is no TLS and no endpoint where %s', (_, verification, field) => {
    const { cluster, fields, problems } = clusterOf({ tls: { enabled: true, verification } });
    expect(objectOf(cluster['loadAssignment'])).toEqual({ clusterName: 'egress:bank' });
    expect(cluster).not.toHaveProperty('transportSocketMatches');
    expect(problems.map(({ reason }) => reason)).toEqual([expect.stringMatching(/: requests are answered 503$/)]);
    expect(fields).toEqual([`MeshExternalService bank spec.tls.verification.${field}`]);
  });
});
