// Tokens and certificates with real processes: admission, the reasons of refusals, and the streams that a revocation ends.
import { X509Certificate } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { createAuthority } from '../../src/base/self-signed.ts';
import { ControlPlane, WAIT } from '../support/control-plane.ts';
import { controlPlaneEnv } from '../support/control-plane-env.ts';
import { freePort } from '../support/free-port.ts';
import { cloneDatabase } from '../support/postgres-database.ts';
import { outputOf } from '../support/run-meridian.ts';

const url = inject('postgresUrl');

let folder: string;
let global: ControlPlane;
let east: ControlPlane;
let west: ControlPlane;
let kds: number;
let https: number;
let admin: string;
const file = (name: string): string => join(folder, name);

async function writeCertificate(): Promise<void> {
  const authority = await createAuthority('test', new Date());
  const { certPem, keyPem } = await authority.issue({ hosts: ['127.0.0.1', 'localhost'] });
  await writeFile(file('server.key'), keyPem);
  await writeFile(file('server.pem'), certPem);
  await writeFile(file('ca.pem'), authority.certPem);
}

async function meridian(...args: string[]): Promise<string> {
  return await outputOf(args, { env: { ...process.env, MERIDIAN_ADDRESS: 'http://127.0.0.1:1' } });
}

/** A key that no control plane has: global knows its public half. */
async function writeSigningKeys(): Promise<void> {
  await writeFile(file('outside.pem'), await meridian('generate', 'signing-key', '--format', 'pem'));
  await writeFile(file('outside.pub.pem'), await meridian('generate', 'public-key', '--signing-key-path', file('outside.pem')));
  const validator = { publicKeys: [{ kid: 'outside', keyFile: file('outside.pub.pem') }] };
  const config = {
    apiServer: { authn: { tokens: { validator } } },
    dpServer: { authn: { zoneProxy: { zoneToken: { validator } } } },
  };
  // JSON is YAML.
  await writeFile(file('global.yaml'), JSON.stringify(config));
}

/** A token signed without a control plane. */
async function signOutside(kind: 'zone' | 'user', key: string, kid: string, ...args: string[]): Promise<string> {
  const signing = ['--signing-key-path', file(key), '--kid', kid];
  return await meridian('generate', `${kind}-token`, ...args, '--valid-for', '1h', ...signing);
}

async function call(path: string, options: { token?: string; body?: unknown; method?: string } = {}): Promise<Response> {
  const { token, body, method = body === undefined ? 'GET' : 'POST' } = options;
  return await fetch(`http://127.0.0.1:${String(global.api)}${path}`, {
    method,
    headers: {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

async function issue(kind: 'zone' | 'user', body: Record<string, unknown>): Promise<string> {
  const answer = await call(`/tokens/${kind}`, { token: admin, body });
  expect(answer.status).toBe(200);
  return await answer.text();
}

function idOf(token: string): string {
  return (JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { jti: string }).jti;
}

async function revoke(name: string, ...ids: string[]): Promise<void> {
  const body = { type: 'GlobalSecret', name, data: Buffer.from(ids.join(',')).toString('base64') };
  const answer = await call(`/global-secrets/${name}`, { token: admin, body, method: 'PUT' });
  expect(answer.ok).toBe(true);
}

async function isOnline(zone: string): Promise<boolean> {
  const answer = await call(`/zones/${zone}/_overview`);
  if (!answer.ok) return false;
  const { zoneInsight } = (await answer.json()) as { zoneInsight?: { subscriptions?: { disconnectTime?: string }[] } };
  return zoneInsight?.subscriptions?.some(({ disconnectTime }) => disconnectTime === undefined) ?? false;
}

/** Fingerprint of the certificate that a port shows; rejects when the handshake fails. */
async function certificateOf(port: number, options: { maxVersion?: 'TLSv1.2' | 'TLSv1.3' } = {}): Promise<string> {
  return await new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: ['h2', 'http/1.1'], ...options });
    socket.on('error', reject);
    socket.on('secureConnect', () => {
      const { fingerprint256 } = new X509Certificate(socket.getPeerCertificate().raw);
      socket.destroy();
      resolve(fingerprint256);
    });
  });
}

/** The series of a metric that a control plane shows: labels → seconds since 1970. */
async function endsOf(member: ControlPlane, metric: string): Promise<Record<string, number>> {
  const answer = await fetch(`http://127.0.0.1:${member.env['MERIDIAN_DIAGNOSTICS_SERVER_PORT'] ?? ''}/metrics`);
  const lines = (await answer.text())
    .split('\n')
    .filter((line) => line.startsWith(`meridian_${metric}_expiration_timestamp_seconds{`));
  return Object.fromEntries(lines.map((line) => [/="(\w+)"/.exec(line)?.[1] ?? '', Number(line.split(' ').at(-1))]));
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'meridian-tokens-'));
  [kds, https] = [await freePort(), await freePort()];
  await writeCertificate();
  await writeSigningKeys();
  global = new ControlPlane('global', await cloneDatabase(url), await freePort(), {
    MERIDIAN_CONFIG: file('global.yaml'),
    MERIDIAN_MULTIZONE_GLOBAL_KDS_GRPC_PORT: String(kds),
    MERIDIAN_MULTIZONE_GLOBAL_KDS_AUTH_TYPE: 'zoneToken',
    MERIDIAN_GENERAL_TLS_CERT_FILE: file('server.pem'),
    MERIDIAN_GENERAL_TLS_KEY_FILE: file('server.key'),
    MERIDIAN_GENERAL_TLS_MIN_VERSION: 'TLSv1_3',
    MERIDIAN_API_SERVER_HTTPS_ENABLED: 'true',
    MERIDIAN_API_SERVER_HTTPS_PORT: String(https),
    MERIDIAN_API_SERVER_AUTHN_LOCALHOST_IS_ADMIN: 'false',
    MERIDIAN_DIAGNOSTICS_SERVER_PORT: String(await freePort()),
    MERIDIAN_LOG_LEVEL: 'info',
  });
  const zone = async (name: string): Promise<ControlPlane> =>
    new ControlPlane('zone', await cloneDatabase(url), await freePort(), {
      MERIDIAN_MULTIZONE_ZONE_NAME: name,
      MERIDIAN_MULTIZONE_ZONE_GLOBAL_ADDRESS: `grpcs://127.0.0.1:${String(kds)}`,
      MERIDIAN_MULTIZONE_ZONE_KDS_ROOT_CA_FILE: file('ca.pem'),
      MERIDIAN_DIAGNOSTICS_SERVER_PORT: String(await freePort()),
    });
  [east, west] = [await zone('east'), await zone('west')];
  for (const member of [global, east, west]) {
    member.isQuiet = true;
    await member.psql.connect();
  }
  global.start();
  await vi.waitFor(async () => {
    global.assertRunning();
    const row = await global.psql.query<{ spec: string }>(
      `select spec from resources where type = 'GlobalSecret' and name = 'admin-user-token'`,
    );
    admin = Buffer.from((JSON.parse(row.rows[0]?.spec ?? '') as { data: string }).data, 'base64').toString();
    if ((await call('/who-am-i', { token: admin })).status !== 200) throw new Error('the admin token does not count yet');
  }, WAIT);
});

afterAll(async () => {
  for (const member of [east, west, global]) {
    await member.end('SIGTERM');
    await member.psql.end();
  }
  await rm(folder, { recursive: true });
});

describe('the REST API', () => {
  it('identifies callers by their tokens', async () => {
    expect(await (await call('/who-am-i')).json()).toEqual({
      name: 'mesh-system:anonymous',
      groups: ['mesh-system:unauthenticated'],
    });
    expect(await (await call('/who-am-i', { token: admin })).json()).toEqual({
      name: 'mesh-system:admin',
      groups: ['mesh-system:admin', 'mesh-system:authenticated'],
    });
    const refused = await call('/meshes', { token: `${admin}x` });
    expect(refused.status).toBe(401);
    expect(await refused.json()).toMatchObject({ title: 'Invalid authentication data', status: 401 });
    expect((await call('/', { token: `${admin}x` })).status).toBe(200);
  });

  it('gives secrets and tokens to admins only', async () => {
    const ann = await issue('user', { name: 'ann', groups: ['team'], validFor: '1h' });
    for (const token of [undefined, ann]) {
      const with_ = token === undefined ? {} : { token };
      for (const path of ['/global-secrets', '/globalsecrets/admin-user-token', '/secrets', '/meshes/default/secrets'])
        expect((await call(path, with_)).status, path).toBe(403);
      expect((await call('/tokens/zone', { ...with_, body: { zone: 'east' } })).status).toBe(403);
    }
    expect((await call('/global-secrets/admin-user-token', { token: admin })).status).toBe(200);
    await revoke('user-token-revocations', idOf(ann));
    await expect.poll(async () => (await call('/meshes', { token: ann })).status, WAIT).toBe(401);
  });

  it('accepts tokens signed offline with a key of its store, or a key whose public half is configured', async () => {
    const secret = (await (await call('/global-secrets/user-token-signing-key-1', { token: admin })).json()) as { data: string };
    await writeFile(file('stored.pem'), Buffer.from(secret.data, 'base64'));
    for (const [key, kid] of [
      ['stored.pem', '1'],
      ['outside.pem', 'outside'],
    ] as const) {
      const token = await signOutside('user', key, kid, '--name', 'ida', '--group', 'team');
      expect(await (await call('/who-am-i', { token })).json()).toEqual({
        name: 'ida',
        groups: ['team', 'mesh-system:authenticated'],
      });
    }
    const wrong = await signOutside('user', 'outside.pem', '1', '--name', 'ida');
    expect((await call('/who-am-i', { token: wrong })).status).toBe(401);
  });

  it('answers over HTTPS', async () => {
    const ca = await readFile(file('ca.pem'));
    const body = await new Promise<string>((resolve, reject) => {
      const request = get({ host: 'localhost', port: https, path: '/who-am-i', ca }, (answer) => {
        answer.setEncoding('utf8').once('data', resolve);
      });
      request.on('error', reject);
    });
    expect(JSON.parse(body)).toMatchObject({ name: 'mesh-system:anonymous' });
  });
});

describe('a zone', () => {
  it('without a token is refused with the command to run, and none of its resources are stored', async () => {
    east.start();
    await expect.poll(() => east.lastWords(), WAIT).toContain('meridian generate zone-token --zone east --scope cp');
    expect(east.lastWords()).toContain('multizone.zone.kds.auth.tokenFile');
    expect((await call('/zones/east')).status).toBe(404);
    await east.end('SIGTERM');
  });

  it('joins when its file has a token, without a restart', async () => {
    await writeFile(file('east.token'), '');
    east.env['MERIDIAN_MULTIZONE_ZONE_KDS_AUTH_TOKEN_FILE'] = file('east.token');
    east.start();
    await expect.poll(() => east.lastWords(), WAIT).toContain('multizone.zone.kds.auth.tokenFile');
    await writeFile(file('east.token'), await issue('zone', { zone: 'east', scope: ['cp'], validFor: '1h' }));
    await expect.poll(() => isOnline('east'), WAIT).toBe(true);
  });

  it('shows in its overview and in `inspect zones` that its token expires soon', async () => {
    const answer = (await (await call('/zones/east/_overview')).json()) as { warnings?: string[] };
    expect(answer.warnings?.[0]).toMatch(/^the token of zone "east" expires in less than a day/);
    const stdout = await outputOf(['inspect', 'zones', '--address', `http://127.0.0.1:${String(global.api)}`]);
    expect(stdout).toContain('the token of zone "east" expires in less than a day');
  });

  it('has a metric of the expiry of its token, on both sides', async () => {
    const claims = (await readFile(file('east.token'), 'utf8')).split('.')[1] ?? '';
    const { exp } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as { exp: number };
    for (const member of [global, east]) expect(await endsOf(member, 'zone_token')).toEqual({ east: exp });
  });

  it('is refused with the token of another zone', async () => {
    west.env['MERIDIAN_MULTIZONE_ZONE_KDS_AUTH_TOKEN_FILE'] = file('east.token');
    west.start();
    await expect.poll(() => west.lastWords(), WAIT).toContain('is for zone');
    expect((await call('/zones/west')).status).toBe(404);
    await west.end('SIGTERM');
  });

  it('is disconnected when its token is revoked, and joins with another', async () => {
    await revoke('zone-token-revocations', idOf(await readFile(file('east.token'), 'utf8')));
    await expect.poll(() => isOnline('east'), WAIT).toBe(false);
    await expect.poll(() => east.lastWords(), WAIT).toContain('was revoked');
    await expect.poll(() => endsOf(global, 'zone_token'), WAIT).toEqual({});
    await writeFile(file('east.token'), await signOutside('zone', 'outside.pem', 'outside', '--zone', 'east'));
    await expect.poll(() => isOnline('east'), WAIT).toBe(true);
  });
});

describe('TLS', () => {
  it('refuses versions below the minimum', async () => {
    for (const port of [kds, https]) await expect(certificateOf(port, { maxVersion: 'TLSv1.2' })).rejects.toThrow();
  });

  it('uses a renewed certificate without a restart, and keeps the old one while the files are invalid', async () => {
    const before = await certificateOf(kds);
    expect(await certificateOf(https)).toBe(before);
    await writeFile(file('server.pem'), 'half a file');
    await expect.poll(() => global.lastWords(), WAIT).toContain('the old ones stay in force');
    expect(await certificateOf(kds)).toBe(before);
    await writeCertificate();
    for (const port of [kds, https]) await expect.poll(() => certificateOf(port), WAIT).not.toBe(before);
    const end = new X509Certificate(await readFile(file('server.pem'))).validToDate.getTime() / 1000;
    expect(await endsOf(global, 'server_certificate')).toEqual({ api: end, kds: end });
    expect(await isOnline('east')).toBe(true);
  });
});

it('no token and no key is in any log', () => {
  for (const member of [global, east, west]) expect(member.lastWords()).not.toMatch(/eyJ[\w-]{10,}\.|BEGIN [A-Z ]*PRIVATE/);
});

describe('an empty store with the name and the token of a zone', () => {
  let impostor: ControlPlane;

  beforeAll(async () => {
    const [database, api] = [await cloneDatabase(url), await freePort()];
    impostor = new ControlPlane('zone', database, api, {
      ...east.env,
      ...controlPlaneEnv(database, api),
      MERIDIAN_DIAGNOSTICS_SERVER_PORT: String(await freePort()),
    });
    impostor.isQuiet = true;
    await impostor.psql.connect();
  });

  afterAll(async () => {
    await impostor.end('SIGTERM');
    await impostor.psql.end();
  });

  async function putDataplane(cp: ControlPlane, name: string): Promise<void> {
    const networking = { address: '192.0.2.1', inbound: [{ port: 80 }] };
    const body = { type: 'Dataplane', mesh: 'default', name, networking };
    await expect.poll(() => cp.put(`/meshes/default/dataplanes/${name}`, body), WAIT).toBe(201);
  }

  /** Names of the Dataplanes on global, as their zone calls them. */
  async function proxies(): Promise<string[]> {
    const rows = [...(await global.rows('Dataplane')).values()];
    return rows.map(({ labels }) => labels['kuma.io/display-name'] ?? '').sort();
  }

  it('is refused over TLS, and the zone stays connected', async () => {
    await putDataplane(east, 'cart-1');
    await expect.poll(proxies, WAIT).toEqual(['cart-1']);
    impostor.start();
    await expect.poll(() => impostor.lastWords(), WAIT).toContain('meridian zone adopt east');
    await putDataplane(east, 'cart-2');
    await expect.poll(proxies, WAIT).toEqual(['cart-1', 'cart-2']);
    expect((await impostor.rows('Mesh')).size).toBe(0);
    expect(await isOnline('east')).toBe(true);
  });

  it('becomes the zone when an admin accepts it, and only an admin may', async () => {
    const adopt = async (token: string): Promise<string> => {
      const env = { ...process.env, MERIDIAN_ADDRESS: `http://127.0.0.1:${String(global.api)}`, MERIDIAN_TOKEN: token };
      return await outputOf(['zone', 'adopt', 'east'], { env });
    };
    const ann = await issue('user', { name: 'ann', groups: ['team'], validFor: '1h' });
    await expect(adopt(ann)).rejects.toThrow('access.static.acceptPeers');
    expect(await proxies()).toEqual(['cart-1', 'cart-2']);
    expect(await adopt(admin)).toContain('zone east belongs to store');
    await expect.poll(proxies, WAIT).toEqual([]);
    await putDataplane(impostor, 'cart-3');
    await expect.poll(proxies, WAIT).toEqual(['cart-3']);
    await expect.poll(() => east.lastWords(), WAIT).toContain('meridian zone adopt east');
  });
});
