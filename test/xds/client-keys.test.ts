// The key with which an egress shows itself to an external service goes to Envoy by SDS alone: no other resource of the proxy holds it, no
// MeshProxyPatch reads or moves it, and a changed key reaches the proxy (decision 93).
import { describe, expect, it } from 'vitest';
import { ResourceEncoder } from '../../src/ads/encode-resources.ts';
import { MeshViews } from '../../src/ads/mesh-views.ts';
import { XDS_TYPES, type XdsResponse, type XdsType } from '../../src/ads/session-messages.ts';
import { XdsSession } from '../../src/ads/session.ts';
import { createSelfSigned, type Certificate } from '../../src/base/self-signed.ts';
import { runSteps } from '../../src/base/steps.ts';
import { MeshIndex } from '../../src/policy/mesh-index.ts';
import { secretSpec } from '../../src/resource/secret-data.ts';
import type { JsonObject, Resource } from '../../src/resource/types.ts';
import type { ProxyConfig } from '../../src/xds/proxy-context.ts';
import { proxyConfig } from '../../src/xds/proxy-config.ts';
import { WITHOUT_FEATURES } from '../../src/xds/proxy-features.ts';
import { make } from '../policy/make-resource.ts';
import { egress, identity, trustOf } from './crossing-mesh.ts';

const BANK = 'kri_extsvc_default___bank_443';
const CLUSTER = `egress:tls:${BANK}`;
const KEY = `egress:key:${BANK}`;
const SHOP = 'egress:tls:kri_extsvc_default___shop_443';
const SOCKET = '/transportSocketMatches/0/transportSocket/typedConfig/commonTlsContext';
const IN_LISTENER = 'self_zoneegress_dp_10002';
const [ONE, TWO]: Certificate[] = await Promise.all(['one', 'two'].map((name) => createSelfSigned('client', [name], new Date())));

const secret = (name: string): JsonObject => ({ type: 'Secret', secretRef: { kind: 'Secret', name } });
const external = (name: string, verification: JsonObject): Resource =>
  make('MeshExternalService', name, {
    match: { type: 'HostnameGenerator', port: 443, protocol: 'http' },
    endpoints: [{ address: `${name}.example`, port: 443 }],
    tls: { enabled: true, version: { min: 'TLS12' }, verification: { mode: 'SkipCA', ...verification } },
  });
const bank = external('bank', { clientCert: secret('pair'), clientKey: secret('pair') });
const pairOf = (pem?: Certificate): Resource => make('Secret', 'pair', secretSpec(`${pem?.certPem ?? ''}${pem?.keyPem ?? ''}`));
const rows = [egress, identity, trustOf('east'), bank, external('shop', {}), pairOf(ONE)];

function configOf(modifications: readonly JsonObject[]): ProxyConfig {
  const patch = make('MeshProxyPatch', 'patch', { default: { appendModifications: [...modifications] } });
  const index = new MeshIndex('default', [...rows, patch]);
  const [proxy] = index.proxies();
  if (proxy === undefined) throw new Error('the mesh has no proxy');
  return proxyConfig(index, proxy, WITHOUT_FEATURES);
}

/** The resources of a configuration but for the secrets, as JSON. */
function textOf({ clusters, assignments, listeners, routes, secrets, problems }: ProxyConfig): string {
  return JSON.stringify([...[clusters, assignments, listeners, routes, secrets].map((map) => [...map]), problems]);
}

/** Parts of the key, plain and in each alignment of base64, that no text but a secret has. */
function partsOfKey({ keyPem }: Certificate): string[] {
  const [, body = ''] = keyPem.split('\n');
  const aligned = [0, 1, 2].map((skip) => Buffer.from(body.slice(skip, 60)).toString('base64').slice(4, 40));
  return ['PRIVATE KEY', body.slice(0, 40), ...aligned];
}

function expectWithoutKey(text: string): void {
  for (const part of ONE === undefined ? [''] : partsOfKey(ONE)) expect(text).not.toContain(part);
}

describe('the key for an external service', () => {
  it('is in a secret of the cluster alone, also where one Secret holds certificate and key', () => {
    const config = configOf([]);
    expectWithoutKey(textOf(config));
    expect([...config.keys.keys()]).toEqual([KEY]);
    expect(JSON.stringify(config.clusters.get(CLUSTER))).toContain(
      `"tlsCertificateSdsSecretConfigs":[{"name":"${KEY}","sdsConfig":{"ads":{},"resourceApiVersion":"V3"}}]`,
    );
    expect(textOf(config).split(KEY)).toHaveLength(2);
  });

  it('is beyond the reach of every path of a patch', () => {
    const text = textOf(configOf([]));
    const from = [`${SOCKET}/tlsCertificates/0/privateKey/inlineBytes`, `${SOCKET}/tlsCertificateSdsSecretConfigs/0`];
    for (const op of ['copy', 'move', 'test', 'remove', 'replace', 'add'])
      for (const path of from) {
        const operation = { op, path: op === 'copy' || op === 'move' ? '/altStatName' : path, from: path, value: 'x' };
        const config = configOf([{ cluster: { operation: 'Patch', match: {}, jsonPatches: [operation] } }]);
        expectWithoutKey(textOf(config));
        expect([...config.keys]).toHaveLength(1);
      }
    expectWithoutKey(text);
  });
});

describe('a patch', () => {
  const tls = `{'@type': type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext, common_tls_context: {tls_certificate_sds_secret_configs: [{name: '${KEY}', sds_config: {ads: {}, resource_api_version: V3}}]}}`;
  const socket = `transport_socket: {name: tls, typed_config: ${tls}}`;
  const sds = { name: KEY, sdsConfig: { ads: {}, resourceApiVersion: 'V3' } };

  it.each<[what: string, modification: JsonObject]>([
    ['an added cluster', { cluster: { operation: 'Add', value: `{name: own, connect_timeout: 1s, ${socket}}` } }],
    [
      'an added cluster in the place of one that has it',
      { cluster: { operation: 'Add', value: `{name: '${CLUSTER}', connect_timeout: 1s, ${socket}}` } },
    ],
    ['a value that is merged', { cluster: { operation: 'Patch', match: { name: SHOP }, value: `{${socket}}` } }],
    [
      'a value of a type that Envoy converts',
      {
        cluster: {
          operation: 'Patch',
          match: { name: SHOP },
          value: `{transport_socket: {name: tls, typed_config: {'@type': type.googleapis.com/xds.type.v3.TypedStruct, type_url: type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext, value: {common_tls_context: {tls_certificate_sds_secret_configs: [{name: '${KEY}'}]}}}}}`,
        },
      },
    ],
    [
      'a JSON patch',
      {
        cluster: {
          ...{ operation: 'Patch', match: { name: SHOP } },
          jsonPatches: [{ op: 'add', path: `${SOCKET}/tlsCertificateSdsSecretConfigs`, value: [sds] }],
        },
      },
    ],
    [
      'a listener',
      {
        listener: {
          ...{ operation: 'Patch', match: { name: IN_LISTENER } },
          jsonPatches: [
            {
              op: 'add',
              path: '/filterChains/0/transportSocket/typedConfig/commonTlsContext/tlsCertificateSdsSecretConfigs/0',
              value: sds,
            },
          ],
        },
      },
    ],
    [
      'an HTTP filter',
      {
        httpFilter: {
          ...{ operation: 'AddFirst', match: {} },
          value: `{name: c, typed_config: {'@type': type.googleapis.com/envoy.extensions.filters.http.credential_injector.v3.CredentialInjector, credential: {name: g, typed_config: {'@type': type.googleapis.com/envoy.extensions.http.injected_credentials.generic.v3.Generic, credential: {name: '${KEY}', sds_config: {ads: {}}}}}}}`,
        },
      },
    ],
  ])('gives it to nothing else: %s', (_, modification) => {
    const config = configOf([modification]);
    expect(textOf({ ...config, problems: [] }).split(KEY)).toHaveLength(2);
    expect(JSON.stringify(config.clusters.get(CLUSTER))).toContain(KEY);
    expect(config.problems.map(({ policy }) => policy)).toContain('kri_mpp_default___patch_');
  });

  it('may change everything else of its cluster', () => {
    const change = { operation: 'Patch', match: { name: CLUSTER }, value: '{connect_timeout: 7s}' };
    const config = configOf([{ cluster: change }]);
    expect(config.clusters.get(CLUSTER)).toMatchObject({ connectTimeout: '7s' });
    expect(JSON.stringify(config.clusters.get(CLUSTER))).toContain(KEY);
    expect(config.problems.filter(({ policy }) => policy !== null)).toEqual([]);
  });
});

describe('an egress that is connected', () => {
  class Egress {
    readonly #index = new MeshIndex('default', rows);
    readonly #views = new MeshViews(this.#index, new ResourceEncoder(), 'east');
    readonly #session: XdsSession;

    constructor() {
      const view = this.#views.open(egress.name, WITHOUT_FEATURES);
      if (view === undefined) throw new Error('the mesh has no egress');
      this.#session = new XdsSession(view);
      const failed = (error: unknown): void => {
        throw error;
      };
      view.listen({ changed: (names) => this.#session.viewChanged(names), ended: () => undefined, failed });
    }

    ask(type: XdsType, subscribe: readonly string[] = []): void {
      this.#session.receive({ type, subscribe, unsubscribe: [], initialVersions: new Map(), nonce: '', error: null });
    }

    change(next: readonly Resource[]): void {
      const held = next.flatMap(({ type, name }) => this.#index.get(type, name) ?? []);
      this.#views.before(held, next);
      for (const row of next) this.#index.put(row);
      runSteps(this.#views.after(next));
    }

    take(): string[] {
      return this.#session.take().map((response) => this.#accepted(response));
    }

    #accepted({ type, nonce, resources }: XdsResponse): string {
      this.#session.receive({ type, subscribe: [], unsubscribe: [], initialVersions: new Map(), nonce, error: null });
      return [type, ...resources.map(({ name }) => name)].join(' ');
    }
  }

  it('gets the key when its cluster asks for it, and a changed key alone', () => {
    const proxy = new Egress();
    for (const type of XDS_TYPES) if (type !== 'Secret') proxy.ask(type);
    expect(proxy.take().join()).toContain(CLUSTER);
    proxy.ask('Secret', [KEY]);
    expect(proxy.take()).toContain(`Secret ${KEY}`);
    while (proxy.take().length > 0);
    proxy.change([pairOf(TWO)]);
    expect([proxy.take(), proxy.take()]).toEqual([[`Secret ${KEY}`], []]);
  });

  it('gets a changed key before a cluster that changes with it', () => {
    const proxy = new Egress();
    proxy.ask('Cluster');
    proxy.ask('Secret', [KEY]);
    while (proxy.take().length > 0);
    const spec = { ...bank.spec, endpoints: [{ address: 'other.example', port: 443 }] };
    proxy.change([pairOf(TWO), { ...bank, spec }]);
    expect([proxy.take(), proxy.take()]).toEqual([[`Secret ${KEY}`], [`Cluster ${CLUSTER}`]]);
  });

  it('has no cluster that waits for a key that is gone', () => {
    const proxy = new Egress();
    proxy.ask('Cluster');
    proxy.ask('Secret', [KEY]);
    while (proxy.take().length > 0);
    proxy.change([make('Secret', 'pair', secretSpec('no key'))]);
    expect(proxy.take()).toEqual([`Cluster ${CLUSTER}`]);
    proxy.change([pairOf(TWO)]);
    const sent = [...proxy.take(), ...proxy.take()];
    expect(sent).toEqual([`Secret ${KEY}`, `Cluster ${CLUSTER}`]);
  });
});
