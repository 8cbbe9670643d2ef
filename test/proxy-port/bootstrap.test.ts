// `POST /bootstrap`: a recorded request of a real kuma-dp gets what its Envoy needs, and each wrong request the status that it expects.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { MeridianError } from '../../src/base/errors.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { OpenPort, type HttpAnswer } from './open-port.ts';

type Recorded = {
  readonly request: JsonObject & { readonly caCert: string };
  readonly headers: Record<string, string>;
  readonly response: { readonly body: JsonObject };
  readonly bootstrap: Bootstrap;
};
type Bootstrap = JsonObject & {
  readonly node: { readonly id: string; readonly cluster: string; readonly metadata: JsonObject };
  readonly dynamicResources: JsonObject;
  readonly staticResources: {
    readonly clusters: readonly (JsonObject & { readonly name: string })[];
    readonly secrets: readonly JsonObject[];
  };
};

const recorded = JSON.parse(readFileSync(join(import.meta.dirname, 'recorded-bootstrap.json'), 'utf8')) as Recorded;

const server = new OpenPort();
let token: string;
beforeAll(async () => {
  await server.start();
  token = await server.token();
});
afterAll(() => server.close());

/** The recorded request with other values; null leaves a key out. */
async function ask(changes: Record<string, unknown> = {}, headers: Record<string, string> = {}): Promise<HttpAnswer> {
  const body = { ...recorded.request, caCert: server.certPem, dataplaneToken: token, ...changes };
  return await server.bootstrap(Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null)), headers);
}

function bootstrapOf({ status, body }: HttpAnswer): Bootstrap {
  expect([status, body]).toEqual([200, expect.stringContaining('{"bootstrap":')]);
  const { bootstrap } = JSON.parse(body) as { bootstrap: string };
  return JSON.parse(Buffer.from(bootstrap, 'base64').toString()) as Bootstrap;
}

const stored = { dataplaneResource: null, name: 'cart-1' };

describe('a bootstrap', () => {
  it('equals the recorded one for the stream', async () => {
    const answer = await ask();
    expect(answer.type).toContain('application/json');
    const { bootstrap: _, ...rest } = JSON.parse(answer.body) as JsonObject;
    expect(rest).toEqual(recorded.response.body);
    const { node, dynamicResources, staticResources } = bootstrapOf(answer);
    expect([node.id, node.cluster]).toEqual(['shop.checkout', 'checkout']);
    const was = recorded.bootstrap;
    const { 'meridian.run': run, ...metadata } = node.metadata;
    expect(was.node.metadata).toMatchObject(metadata);
    expect(run).toMatch(/^[\da-f-]{36}$/);
    expect(node.metadata['dataplane.resource']).toBe(recorded.request['dataplaneResource']);
    const written = JSON.stringify(was.dynamicResources).replace('<token>', token);
    expect(dynamicResources).toEqual(JSON.parse(written));
    const ads = was.staticResources.clusters.find(({ name }) => name === 'system_ads');
    const port = JSON.stringify(ads).replace('"portValue":5678', `"portValue":${String(server.port)}`);
    // The recorded second is too short where many proxies connect at once.
    expect(staticResources.clusters).toContainEqual({ ...(JSON.parse(port) as JsonObject), connectTimeout: '10s' });
    const pem = Buffer.from(server.certPem).toString('base64');
    const secrets = JSON.stringify(was.staticResources.secrets).replace(/(?<="inlineBytes":")[^"]+/, pem);
    expect(staticResources.secrets).toEqual(JSON.parse(secrets));
  });

  it('is YAML itself for a client that accepts YAML', async () => {
    const answer = await ask({}, { accept: 'application/yaml' });
    expect([answer.status, answer.type]).toEqual([200, 'text/x-yaml']);
    const { node, ...rest } = bootstrapOf(await ask());
    expect(parse(answer.body)).toMatchObject({ ...rest, node: { id: node.id, cluster: node.cluster } });
  });

  it('is made for a stored Dataplane too', async () => {
    const answer = await ask(stored);
    expect(bootstrapOf(answer).node.id).toBe('shop.cart-1');
    expect(JSON.parse(answer.body)).toMatchObject({ kumaSidecarConfiguration: { networking: { address: '127.1.0.7' } } });
  });

  it('trusts the certificate of the port where the request brings none', async () => {
    const { staticResources } = bootstrapOf(await ask({ caCert: null }));
    expect(JSON.stringify(staticResources.secrets)).toContain(Buffer.from(server.certPem).toString('base64'));
  });

  it('leads to the host and port of the request', async () => {
    const { staticResources } = bootstrapOf(await ask({}, { host: '[::1]' }));
    expect(JSON.stringify(staticResources.clusters)).toContain('{"address":"::1","portValue":443}');
  });

  it('drops fields of a Dataplane that it does not know', async () => {
    const dataplane = JSON.stringify({ ...CHECKOUT, networking: { address: '127.1.0.1', unknown: 1 } });
    expect((await ask({ dataplaneResource: dataplane })).status).toBe(200);
  });

  it('needs no token where none is asked for', async () => {
    const open = await new OpenPort().start({ type: 'none' });
    const answer = await open.bootstrap({ ...recorded.request, ...stored, dataplaneToken: '', caCert: '' });
    const { dynamicResources } = bootstrapOf(answer);
    expect(JSON.stringify(dynamicResources)).toContain('"initialMetadata":[]');
    await open.close();
  });
});

const CHECKOUT = { type: 'Dataplane', mesh: 'shop', name: 'checkout', networking: { address: '127.1.0.1' } };
const dataplane = (changes: object): object => ({ dataplaneResource: JSON.stringify({ ...CHECKOUT, ...changes }) });

describe('a token', () => {
  it.each<[string, () => Promise<string>, number]>([
    ['without a signature', async () => 'a.b.c', 401],
    ['of another Dataplane', async () => await server.token({ name: 'cart-2' }), 403],
  ])('%s gets the same answer for a Dataplane that exists and for one that does not', async (_, tokenOf, status) => {
    const dataplaneToken = await tokenOf();
    for (const name of ['cart-1', 'nobody'])
      for (const path of ['/bootstrap', '/leave']) {
        const asked = { mesh: 'shop', workdir: '/run', name, dataplaneToken, state: 'ended' };
        const answer = await server.send('POST', path, JSON.stringify(asked));
        expect([path, name, answer.status, answer.body]).toEqual([path, name, status, expect.stringMatching(/^the token of /)]);
      }
    expect(server.left).toEqual([]);
  });
});

describe('a proxy that leaves', () => {
  const leave = async (changes: object): Promise<HttpAnswer> =>
    await server.send(
      'POST',
      '/leave',
      JSON.stringify({ ...{ mesh: 'shop', name: 'cart-1', run: 'r1', state: 'draining', dataplaneToken: token }, ...changes }),
    );

  it('is heard with its token', async () => {
    server.left.length = 0;
    expect((await leave({})).status).toBe(204);
    expect((await leave({ state: 'ended' })).status).toBe(204);
    const left = { mesh: 'shop', name: 'cart-1', run: 'r1' };
    expect(server.left).toEqual([
      { ...left, state: 'draining' },
      { ...left, state: 'ended' },
    ]);
  });

  it('has nothing to leave where there is no Dataplane', async () => {
    server.left.length = 0;
    expect((await leave({ name: 'nobody' })).status).toBe(204);
    expect(server.left).toEqual([]);
  });

  it('is asked for a state', async () => {
    expect(await leave({ state: 'gone' })).toMatchObject({ status: 422, body: 'state: must be draining or ended' });
  });
});

describe('a request', () => {
  it.each<[string, object, number, RegExp]>([
    ['without a token', { dataplaneToken: '' }, 422, /^a dataplane token is required/],
    ['with a token that is no header', { dataplaneToken: 'a\nb' }, 422, /^dataplaneToken: /],
    ['for a Dataplane that is not known', { dataplaneResource: null }, 404, /^$/],
    ['for a mesh that is not known', { ...stored, mesh: 'other' }, 401, /^the token of /],
    ['without a mesh', { mesh: null }, 422, /^mesh: /],
    ['with a name that no row can have', { name: 'a'.repeat(254) }, 422, /^name: /],
    ['without a folder', { workdir: null }, 422, /^workdir: /],
    ['of another type of proxy', { proxyType: 'ingress' }, 422, /^proxyType: /],
    ['with a certificate that is none', { caCert: 'none' }, 422, /^caCert: /],
    ['with a Dataplane without an address', dataplane({ networking: {} }), 422, /^networking.address: /],
    ['with a Dataplane of another name', dataplane({ name: 'cart' }), 422, /^name: /],
    ['with a Dataplane of another mesh', dataplane({ mesh: 'other' }), 422, /^mesh: /],
    ['with a resource of another type', dataplane({ type: 'Mesh' }), 422, /^type: /],
    ['with a Dataplane that is no JSON', { dataplaneResource: '{' }, 422, /not valid JSON/],
  ])('%s is answered with a reason', async (_, changes, status, reason) => {
    const answer = await ask({ ...changes });
    expect([answer.status, answer.body]).toEqual([status, expect.stringMatching(reason)]);
  });

  it.each([['{'], ['[]'], ['']])('that is %j is answered with 400', async (body) => {
    expect((await server.bootstrap(body)).status).toBe(400);
  });

  it('to a host that the certificate does not name is answered with 400, and the names that it has', async () => {
    const answer = await ask({}, { host: 'example.org' });
    expect([answer.status, answer.body]).toEqual([400, expect.stringMatching(/"example.org".*DNS:localhost/)]);
  });

  it('to another path is answered with 404', async () => {
    for (const [method, path] of [
      ['GET', '/'],
      ['GET', '/bootstrap'],
      ['POST', '/other'],
    ] as const)
      expect((await server.send(method, path, '')).status).toBe(404);
  });

  it('is answered with 503 while the store cannot be read, and tells nothing of it', async () => {
    const broken = await new OpenPort().start();
    const dataplaneToken = await broken.token();
    broken.store.get = () => Promise.reject(new MeridianError('unavailable', 'password of the database'));
    const { mesh, workdir } = recorded.request;
    const body = { mesh, workdir, name: 'cart-1', dataplaneToken };
    const answer = await broken.bootstrap(body);
    expect([answer.status, answer.body]).toEqual([503, 'the control plane cannot answer now; try again']);
    await broken.close();
  });
});
