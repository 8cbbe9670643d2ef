// No private key leaves real control planes and real Envoys: the answers of a global and of its zone, what commands print, and the dumps of
// proxies with workload identity, asked of the zone and through global (decision 93). Keys are those of people, of the authority and of tokens.
import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createSelfSigned } from '../../src/base/self-signed.ts';
import { objectsOf, textOf } from '../../src/resource/read-json.ts';
import { secretSpec } from '../../src/resource/secret-data.ts';
import { typeOf } from '../../src/resource/type-registry.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { askAll, isOfDocuments, questionsOf, type Asked, type Paths } from '../http/asked-routes.ts';
import { freePort } from '../support/free-port.ts';
import { keyFinds } from '../support/key-finds.ts';
import { runMeridian } from '../support/run-meridian.ts';
import { EnvoyMesh, type Proxy } from './envoy-mesh.ts';
import { ZoneProcess } from './zone-process.ts';

const MESH = 'keys';
/** Who calls from another machine is no admin without a token that says so. */
const ELSEWHERE = '192.0.2.1';
const PLANES = ['global', 'east'] as const;
/** Secrets with a key of the control plane itself: of each kind one. */
const SOUGHT = /^(identity-\w+-private-key|user-token-signing-key-1)$/;
const CALLERS = ['admin', 'ann'] as const;
const SECRET = { type: 'Secret', secretRef: { kind: 'Secret', name: 'pair' } };
const { certPem, keyPem } = await createSelfSigned('client', ['one'], new Date());

let planes: { readonly global: ZoneProcess; readonly east: ZoneProcess };
type Plane = keyof typeof planes;
let mesh: EnvoyMesh;
let outside: Server;
const proxies = new Map<string, Proxy>();
/** Private keys in PEM, by what they are of. */
const keys = new Map([['the client', keyPem]]);
/** Of a user without the right to read Secrets, on each control plane. */
const tokens = { global: '', east: '' };

async function putGlobal(type: string, path: string, name: string, more: JsonObject): Promise<void> {
  await planes.global.send('PUT', `/meshes/${MESH}/${path}/${name}`, { type, mesh: MESH, name, ...more });
}

const workload = (name: string): Record<string, string> => ({ app: name, 'kuma.io/workload': name });

async function post(plane: Plane, path: string, body: JsonObject): Promise<string> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${planes[plane].address}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  return await answer.text();
}

/** The names of Secrets of a control plane with what they hold. */
async function secretsOf(plane: Plane): Promise<[name: string, text: string][]> {
  const lists = ['/secrets', '/global-secrets'].map(async (path) => objectsOf((await planes[plane].read(path))['items']));
  const items = (await Promise.all(lists)).flat();
  return items.map(({ name, data }) => [textOf(name), Buffer.from(textOf(data), 'base64').toString()]);
}

beforeAll(async () => {
  const server = await createSelfSigned('server', ['bank.example'], new Date());
  outside = createServer({ cert: server.certPem, key: server.keyPem, requestCert: true, ca: [certPem] }, (_, response) =>
    response.end('paid'),
  );
  outside.listen(0, '127.0.0.1');
  await once(outside, 'listening');
  const [global, east] = await ZoneProcess.startFleet(['east']);
  if (global === undefined || east === undefined) throw new Error('two control planes');
  planes = { global, east };
  await global.send('PUT', `/meshes/${MESH}`, { type: 'Mesh', name: MESH, skipCreatingInitialPolicies: ['*'] });
  await putGlobal('MeshIdentity', 'meshidentities', 'identity', {
    spec: {
      selector: { dataplane: { matchLabels: {} } },
      provider: { type: 'Bundled', bundled: { autogenerate: { enabled: true } } },
    },
  });
  const allow = [{ spiffeID: { type: 'Prefix', value: `spiffe://${MESH}.east.mesh.local` } }];
  await putGlobal('MeshTrafficPermission', 'meshtrafficpermissions', 'all', { spec: { rules: [{ default: { allow } }] } });
  await putGlobal('Secret', 'secrets', 'pair', secretSpec(certPem + keyPem));
  await putGlobal('MeshExternalService', 'meshexternalservices', 'bank', {
    spec: {
      match: { type: 'HostnameGenerator', port: 80, protocol: 'http' },
      endpoints: [{ address: '127.0.0.1', port: (outside.address() as AddressInfo).port }],
      tls: { enabled: true, verification: { mode: 'SkipCA', clientCert: SECRET, clientKey: SECRET } },
    },
  });
  mesh = await EnvoyMesh.join(MESH, east);
  const zoneEgress = { address: '127.0.0.1', port: await freePort() };
  proxies.set('egress', await mesh.proxy('egress', { labels: workload('egress'), listeners: { zoneEgress } }));
  const port = await freePort();
  const backendRef = { kind: 'MeshExternalService', labels: { 'kuma.io/display-name': 'bank' } };
  proxies.set('cart', await mesh.proxy('cart', { labels: workload('cart'), outbounds: [{ port, backendRef }] }));
  // All keys are in use.
  await vi.waitFor(async () => expect((await mesh.get(port)).body).toBe('paid'));
  for (const plane of PLANES) {
    tokens[plane] = await post(plane, '/tokens/user', { name: 'ann', groups: ['dev'], validFor: '1h' });
    for (const [name, text] of await secretsOf(plane)) if (SOUGHT.test(name)) keys.set(`${name} of ${plane}`, text);
  }
});

afterAll(async () => {
  await mesh.close();
  outside.close();
  await Promise.all(Object.values(planes).map((plane) => plane.stop()));
});

/** What the routes of a control plane are asked about, by the names that the resources have there. */
async function askedOf(plane: Plane): Promise<Asked> {
  const types = ['Zone', 'MeshIdentity', 'MeshTrust', 'MeshExternalService', 'Dataplane', 'Secret', 'GlobalSecret'];
  const lists = types.map(async (type): Promise<[string, readonly JsonObject[]]> => {
    const { path, scope } = typeOf(type);
    return [type, objectsOf((await planes[plane].read(`${scope === 'Mesh' ? `/meshes/${MESH}` : ''}/${path}`))['items'])];
  });
  const items = new Map(await Promise.all(lists));
  const kris = [...items.values()].flat().flatMap(({ kri }) => (typeof kri === 'string' ? [kri] : []));
  return { mesh: MESH, names: (type) => (items.get(type) ?? []).map(({ name }) => textOf(name)), kris };
}

/** The name that a Dataplane of the zone has on a control plane. */
async function nameOn(plane: Plane, dataplane: string): Promise<string> {
  const { names } = await askedOf(plane);
  return names('Dataplane').find((name) => name.split('-')[0] === dataplane) ?? dataplane;
}

/** What a text shows, each with the key. */
function shownIn(text: string): string[] {
  return [...keys].flatMap(([of, pem]) => keyFinds(text, pem).map((what) => `${of}: ${what}`));
}

/** An answer; of a stream of events what comes with the first event. */
async function ask(plane: Plane, url: string, headers: Record<string, string>): Promise<string> {
  const answer = await fetch(`${planes[plane].address}${url}`, { headers });
  if (!(answer.headers.get('content-type') ?? '').includes('event-stream')) return await answer.text();
  let text = '';
  for await (const chunk of answer.body ?? []) {
    text += Buffer.from(chunk as Uint8Array).toString();
    if (text.includes('event: ')) break;
  }
  return text;
}

it('has a key of each kind to look for', () => {
  const found = [/^the client$/, /^identity-\w+-private-key of east$/, /^user-token-signing-key-1 of global$/];
  expect(found.map((name) => [...keys.keys()].some((key) => name.test(key)))).toEqual(found.map(() => true));
});

describe.each(PLANES)('the control plane %s', (plane) => {
  it.each(CALLERS)('shows no key in any answer to a GET of %s, except where its admin reads a document', async (caller) => {
    const own: Record<string, string> =
      caller === 'admin' ? {} : { authorization: `Bearer ${tokens[plane]}`, 'x-forwarded-for': ELSEWHERE };
    const { paths } = JSON.parse(await ask(plane, '/openapi.json', {})) as { paths: Paths };
    const shown: string[] = [];
    const documents = new Set<string>();
    await askAll(questionsOf(paths, await askedOf(plane)), async ({ path, url, accept }) => {
      const found = shownIn(await ask(plane, url, { accept, ...own }));
      if (found.length === 0) return;
      if (caller === 'admin' && isOfDocuments(path)) documents.add(path);
      else shown.push(`${url} ${accept}: ${found.join(', ')}`);
    });
    expect(shown).toEqual([]);
    expect(documents.has('/meshes/{mesh}/secrets')).toBe(caller === 'admin');
  });

  it('shows no key in its metrics, in new tokens and in its page', async () => {
    const page = await ask(plane, '/gui/', {});
    const files = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(
      ([, file = '']) => new URL(file, 'http://page/gui/').pathname,
    );
    const issued: [kind: string, body: JsonObject][] = [
      ['user', { name: 'bob', groups: ['dev'], validFor: '1h' }],
      ['zone', { zone: 'east', scope: ['cp'], validFor: '1h' }],
      ['dataplane', { mesh: MESH, name: 'cart', validFor: '1h' }],
    ];
    const texts = [
      await planes[plane].metrics(),
      page,
      ...(await Promise.all(files.map((file) => ask(plane, file, {})))),
      ...(await Promise.all(issued.map(([kind, body]) => post(plane, `/tokens/${kind}`, body)))),
    ];
    expect(files.length).toBeGreaterThan(1);
    expect(texts.filter((text) => text.length > 100).length).toBeGreaterThan(files.length);
    expect(texts.flatMap(shownIn)).toEqual([]);
  });

  it('shows no key in the dumps of proxies with workload identity', async () => {
    const pages = ['xds', 'xds?include_eds=true', 'stats?format=json', 'clusters', '_config', '_config?shadow=true&include=diff'];
    for (const name of proxies.keys())
      for (const page of pages) {
        const text = await ask(plane, `/meshes/${MESH}/dataplanes/${await nameOn(plane, name)}/${page}`, {});
        expect([name, page, text.length > 100, shownIn(text)]).toEqual([name, page, true, []]);
      }
    const dump = await ask(plane, `/meshes/${MESH}/dataplanes/${await nameOn(plane, 'egress')}/xds`, {});
    expect(dump).toContain('SecretsConfigDump');
    // Envoy itself redacts the keys of Secrets.
    const held = [...dump.matchAll(/"private_key": \{[^}]*\}/g)].map(([text]) => text.replaceAll(/\s+/g, ' '));
    expect(new Set(held)).toEqual(new Set([`"private_key": { "inline_bytes": "${REDACTED}" }`]));
  });
});

/** `[redacted]` in base64. */
const REDACTED = 'W3JlZGFjdGVkXQ==';

it('an Envoy shows no key on any page of its admin interface', async () => {
  const pages = ['/config_dump?include_eds', '/config_dump?resource=dynamic_active_secrets', '/certs', '/clusters', '/stats'];
  for (const [name, proxy] of proxies)
    for (const page of pages) {
      const text = await proxy.admin(page);
      expect([name, page, text.length > 0, shownIn(text)]).toEqual([name, page, true, []]);
    }
});

/** Commands, and whether they print a document as it was written to a caller who may read Secrets. */
const COMMANDS: readonly (readonly [command: string, printsDocuments: boolean])[] = [
  ['export', false],
  [`export --mesh ${MESH}`, false],
  ['export --include-secrets', true],
  [`export --mesh ${MESH} --include-secrets`, true],
  [`history --export`, false],
  [`get secrets --mesh ${MESH}`, false],
  [`get secrets --mesh ${MESH} -o wide`, false],
  [`get secrets --mesh ${MESH} -o name`, false],
  [`get secrets --mesh ${MESH} -o yaml`, true],
  [`get secrets --mesh ${MESH} -o json --format kubernetes`, true],
  [`get secret pair --mesh ${MESH} -o json`, true],
  ['get globalsecrets', false],
  [`get meshexternalservices,meshidentities,dataplanes --mesh ${MESH} -o yaml`, false],
  [`describe secret pair --mesh ${MESH}`, false],
  [`history secret pair --mesh ${MESH}`, false],
  [`history secret pair --mesh ${MESH} -o yaml`, false],
  [`diff secret pair --mesh ${MESH}`, false],
  ['explain secret -r', false],
  ['explain secret -o yaml', false],
  [`explain-sync secret pair --mesh ${MESH}`, false],
  [`explain-sync secret pair --mesh ${MESH} -o json`, false],
  [`rollout status secret pair --mesh ${MESH}`, false],
  ['rollout list', false],
  ['inspect zones -o json', false],
  ['inspect meshes', false],
  ['inspect problems', false],
  [`inspect dataplanes --mesh ${MESH}`, false],
  [`inspect dataplane egress --mesh ${MESH}`, false],
  [`inspect dataplane egress --mesh ${MESH} -o json`, false],
  [`inspect service bank --mesh ${MESH}`, false],
  [`inspect policy meshtrafficpermission all --mesh ${MESH}`, false],
  [`inspect identity identity --mesh ${MESH}`, false],
];

describe.each(PLANES)('commands that ask %s', (plane) => {
  it.each(CALLERS)('print no key to %s, except the documents that its admin asks for', async (caller) => {
    // A name of this machine that is not one of itself makes no admin of a caller.
    const address = caller === 'admin' ? planes[plane].address : planes[plane].address.replace('127.0.0.1', '0.0.0.0');
    const own = caller === 'admin' ? [] : ['--token', tokens[plane]];
    const wrong: string[] = [];
    let done = 0;
    for (const [command, printsDocuments] of COMMANDS) {
      const isLocal = command.startsWith('explain ');
      const args = isLocal ? [] : ['--address', address, ...own];
      const { code, stdout, stderr } = await runMeridian([...command.split(' '), ...args]);
      done += code === 0 ? 1 : 0;
      const found = [...shownIn(stderr), ...(printsDocuments && caller === 'admin' ? [] : shownIn(stdout))];
      if (found.length > 0) wrong.push(`${command}: ${found.join(', ')}`);
      // The rule for documents is not an empty one.
      if (printsDocuments && caller === 'admin' && shownIn(stdout).length === 0)
        wrong.push(`${command} prints no Secret: ${stderr}`);
    }
    expect(wrong).toEqual([]);
    expect(done).toBeGreaterThan(caller === 'admin' ? COMMANDS.length * 0.8 : COMMANDS.length / 3);
  });
});
