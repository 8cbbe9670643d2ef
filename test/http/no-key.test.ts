// No route shows a private key, whatever holds it and in whatever encoding: every route of the OpenAPI document is asked, on each control
// plane, as each kind of caller. Callers who may read Secrets read documents as they were written; nothing else (decision 93).
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Writable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { localAccess, type Access } from '../../src/http/access.ts';
import { HIDDEN } from '../../src/base/hidden-keys.ts';
import { createLogger } from '../../src/base/log.ts';
import { createSelfSigned } from '../../src/base/self-signed.ts';
import { addPolicyInspect } from '../../src/inspect/add-inspect-routes.ts';
import { globalSendRules, zoneSendRules } from '../../src/kds/protocol/rules.ts';
import { kriOf } from '../../src/resource/kri.ts';
import { resourceTypes } from '../../src/resource/type-registry.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { isFull } from '../support/test-size.ts';
import { keyFinds } from '../support/key-finds.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { askAll, isOfDocuments, questionsOf, type Asked, type Paths } from './asked-routes.ts';
import { testApi, type Place } from '../api/test-api.ts';

const PLACES = ['global', 'zone', 'alone'] as const;
const ROLES = {
  anonymous: ['mesh-system:unauthenticated'],
  user: ['mesh-system:authenticated'],
  admin: ['mesh-system:authenticated', 'mesh-system:admin'],
};
type Role = keyof typeof ROLES;

const { certPem, keyPem } = await createSelfSigned('client', ['one'], new Date());
const both = certPem + keyPem;
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const source = (name: string): JsonObject => ({ type: 'Secret', secretRef: { kind: 'Secret', name } });
const inline = (value: string): JsonObject => ({ type: 'InsecureInline', insecureInline: { value } });
const external = (verification: JsonObject): JsonObject => ({
  match: { type: 'HostnameGenerator', port: 443, protocol: 'http' },
  endpoints: [{ address: 'bank.example', port: 443 }],
  tls: { enabled: true, verification: { mode: 'SkipCA', ...verification } },
});
const zoneEgress = { address: '10.0.0.1', port: 10_002 };
const modification = { cluster: { operation: 'Patch', match: {}, value: `altStatName: ${JSON.stringify(keyPem)}` } };

/** Rows that hold the key: as people write it, as peers send it, and in what proxies and zones report. */
const rows: readonly [type: string, name: string, spec: JsonObject, status?: JsonObject][] = [
  ['Mesh', 'shop', {}],
  ['Zone', 'east', {}],
  ['ZoneInsight', 'east', { subscriptions: [{ id: keyPem, status: { total: {} } }] }, { syncProblems: [problem(keyPem)] }],
  ['Secret', 'pair', { data: base64(both) }],
  ['GlobalSecret', 'pair', { data: base64(both) }],
  ['MeshExternalService', 'bank', external({ clientCert: source('pair'), clientKey: source('pair'), caCert: source('pair') })],
  ['MeshExternalService', 'inline', external({ clientCert: inline(both), clientKey: inline(keyPem), caCert: inline(both) })],
  ['MeshExternalService', 'older', external({ clientCert: { inlineString: both }, clientKey: { inline: base64(keyPem) } })],
  [
    'MeshIdentity',
    'own',
    { provider: { type: 'Bundled', bundled: { ca: { certificate: inline(both), privateKey: inline(keyPem) } } } },
  ],
  ['MeshTrust', 'trust', { trustDomain: 'a.b', caBundles: [{ type: 'Pem', pem: { value: both } }] }],
  ['MeshProxyPatch', 'patch', { default: { appendModifications: [modification] } }],
  ['Dataplane', 'egress', { networking: { zoneEgress } }],
  [
    'DataplaneInsight',
    'egress',
    { metadata: { note: base64(both) }, subscriptions: [{ id: '1', connectTime: '2026-01-01T00:00:00Z' }] },
  ],
];

function problem(message: string): JsonObject {
  return {
    stream: 'globalToZone',
    kind: 'refused',
    type: 'MeshTimeout',
    resources: ['x'],
    count: 1,
    message,
    time: '2026-01-01T00:00:00Z',
  };
}

let role: Role;
let lines = '';
const access: Access = {
  ...localAccess,
  identify: async () => ({ ok: true, user: { name: role === 'admin' ? 'mesh-system:admin' : role, groups: ROLES[role] } }),
};
const apis = new Map<Place, { readonly api: FastifyInstance; readonly store: TinyStore }>();

beforeAll(async () => {
  for (const place of PLACES) {
    const store = new TinyStore(() => new Date());
    for (const [type, name, spec, status = {}] of rows) {
      const isGlobal = resourceTypes.find((info) => info.name === type)?.scope === 'Global';
      const key = { type, mesh: isGlobal ? '' : 'shop', name };
      const labels = {
        'kuma.io/display-name': name,
        ...(place === 'global' ? { 'kuma.io/zone': 'east', 'kuma.io/origin': 'zone' } : {}),
      };
      const by = { user: 'root' };
      await store.write({ op: 'create', key, labels, spec, status, by });
      await store.write({ op: 'update', key, labels: { ...labels, again: 'x' }, spec, by });
    }
    const sink = new Writable({ write: (chunk: Buffer, _encoding, done) => ((lines += chunk.toString()), done()) });
    const api = testApi(store, place, {
      access,
      addRoutes: addPolicyInspect(place === 'global' ? globalSendRules() : zoneSendRules({ zone: 'east' })),
      log: createLogger('debug', {}, sink),
      // An Envoy that another control plane configured.
      proxyAdmin: async () => Buffer.from(JSON.stringify({ inline_bytes: base64(both), inline_string: both })),
    });
    await api.ready();
    apis.set(place, { api, store });
  }
});
afterAll(async () => {
  for (const { api } of apis.values()) await api.close();
});

function of(place: Place): { readonly api: FastifyInstance; readonly store: TinyStore } {
  const found = apis.get(place);
  if (found === undefined) throw new Error(`no ${place}`);
  return found;
}

const kris = rows.flatMap(([type, name]) => kriOf({ type, mesh: 'shop', name, labels: {} }) ?? []);
const asked: Asked = {
  mesh: 'shop',
  names: (type) => rows.filter(([of]) => of === type).map(([, name]) => name),
  kris: [...kris, ...kris.map((kri) => kri.replace('_shop__', '_shop_east_'))],
};

/** On a push every caller asks global, where the same code answers, and each asks one of the zones. */
function callersOf(place: Place): Role[] {
  return (Object.keys(ROLES) as Role[]).filter((one) => isFull || place === 'global' || (place === 'zone') === (one !== 'admin'));
}

describe.each(PLACES)('on %s', (place) => {
  it.each(callersOf(place))(
    'no GET shows the key to the caller %s',
    async (caller) => {
      role = caller;
      const { api } = of(place);
      const { paths } = (await api.inject({ url: '/openapi.json' })).json<{ paths: Paths }>();
      const shown: string[] = [];
      const answered = new Set<string>();
      const hidden = new Set<string>();
      const documents = new Set<string>();
      await askAll(questionsOf(paths, asked), async ({ path, url, accept }) => {
        const { statusCode, body } = await api.inject({ url, headers: { host: 'localhost', accept } });
        if (statusCode === 200) answered.add(path);
        if (body.includes(HIDDEN)) hidden.add(path);
        if (keyFinds(body, keyPem).length === 0) return;
        if (caller === 'admin' && isOfDocuments(path)) documents.add(path);
        else shown.push(`${url} ${accept}`);
      });
      expect(shown).toEqual([]);
      expect(answered.size).toBeGreaterThan(100);
      const externals = '/meshes/{mesh}/meshexternalservices/{name}';
      const dumps = ['xds', 'stats', 'clusters'].map((what) => `/meshes/{mesh}/dataplanes/{name}/${what}`);
      expect([...hidden]).toEqual(expect.arrayContaining([...dumps, '/_history']));
      if (caller === 'admin')
        expect([...documents]).toEqual(expect.arrayContaining([externals, '/meshes/{mesh}/secrets/{name}', '/_kri/{kri}']));
      else expect([...hidden]).toEqual(expect.arrayContaining([externals, '/meshexternalservices', '/_kri/{kri}']));
    },
    120_000,
  );

  it.each(Object.keys(ROLES) as Role[])(
    'no write, preview or error shows the key to the caller %s',
    async (caller) => {
      role = caller;
      const { api } = of(place);
      const isZone = place === 'zone';
      const labels = { ...(isZone && { 'kuma.io/origin': 'zone' }) };
      const document = {
        type: 'MeshExternalService',
        mesh: 'shop',
        name: 'new',
        labels,
        spec: external({ clientCert: inline(certPem), clientKey: inline(keyPem) }),
      };
      const at = '/meshes/shop/meshexternalservices/new';
      /** The key in every field of a document. */
      const misplaced = (value: unknown): unknown[] => {
        if (Array.isArray(value)) {
          const items: readonly unknown[] = value;
          return items.flatMap((item, index) => misplaced(item).map((other) => items.toSpliced(index, 1, other)));
        }
        if (typeof value !== 'object' || value === null) return [keyPem, base64(both)];
        return [
          { ...value, [keyPem]: 1 },
          ...Object.entries(value).flatMap(([key, inner]) => misplaced(inner).map((other) => ({ ...value, [key]: other }))),
        ];
      };
      const bodies = [document, ...misplaced(document)];
      const shown: string[] = [];
      const statuses = new Set<number>();
      for (const [method, url, wrap] of [
        ['PUT', `${at}?dryRun=true`, (body: unknown) => body],
        ['PUT', at, (body: unknown) => body],
        ['POST', '/_apply?dryRun=true', (body: unknown) => [body]],
        ['POST', '/_preview', (body: unknown) => [body]],
      ] as const)
        for (const body of bodies) {
          const headers = { host: 'localhost', 'content-type': 'application/json' };
          const answer = await api.inject({ method, url, headers, payload: JSON.stringify(wrap(body)) });
          statuses.add(answer.statusCode);
          if (keyFinds(answer.body, keyPem).length > 0) shown.push(`${method} ${url} ${answer.body.slice(0, 400)}`);
        }
      expect(shown).toEqual([]);
      expect([...statuses]).toEqual(expect.arrayContaining([200, 400]));
      expect([500, 503].some((status) => statuses.has(status))).toBe(false);
    },
    120_000,
  );

  it.each(Object.keys(ROLES) as Role[])('a watch shows keys to admins alone: %s', async (caller) => {
    role = caller;
    const { api } = of(place);
    if (!api.server.listening) await api.listen({ host: '127.0.0.1', port: 0 });
    const { port } = api.server.address() as AddressInfo;
    const asking = httpRequest({ port, path: '/meshexternalservices?watch=true' }).end();
    const [answer] = (await once(asking, 'response')) as [IncomingMessage];
    let text = '';
    for await (const chunk of answer) {
      text += String(chunk);
      if (text.includes('event: synced')) break;
    }
    asking.destroy();
    expect([text.includes('"inline"'), keyFinds(text, keyPem).length > 0]).toEqual([true, caller === 'admin']);
  });
});

it('no line of the log had the key', () => {
  expect(lines.length).toBeGreaterThan(1_000);
  expect(keyFinds(lines, keyPem)).toEqual([]);
});
