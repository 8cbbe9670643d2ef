// A real kuma-dp gets its bootstrap from a Meridian zone, with an Envoy that is played: it says which version it is, and waits.
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { parse } from 'yaml';
import { ControlPlane, WAIT } from '../support/control-plane.ts';
import { freePort } from '../support/free-port.ts';
import { cloneDatabase } from '../support/postgres-database.ts';
import { KumaDp } from './kuma-dp.ts';

const ENVOY = `#!/bin/sh
if [ "$1" = --version ]; then echo 'envoy  version: 6eb0d2d97489ec1b4e1584a004f5de443d97a41b/1.39.3/Clean/RELEASE/BoringSSL'; exit; fi
exec sleep 600
`;

let zone: ControlPlane;
let port: number;
let folder: string;

beforeAll(async () => {
  port = await freePort();
  zone = new ControlPlane('zone', await cloneDatabase(inject('postgresUrl')), await freePort(), {
    MERIDIAN_MULTIZONE_ZONE_NAME: 'east',
    MERIDIAN_DIAGNOSTICS_SERVER_PORT: String(await freePort()),
    MERIDIAN_DP_SERVER_PORT: String(port),
    MERIDIAN_DP_SERVER_INTERFACE: 'localhost',
  });
  zone.start();
  await vi.waitFor(async () => expect(await zone.ready()).toBe(200), WAIT);
});
afterAll(() => zone.end('SIGTERM'));
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'meridian-kuma-dp-'));
  await writeFile(join(folder, 'envoy'), ENVOY);
  await chmod(join(folder, 'envoy'), 0o700);
});
afterEach(() => rm(folder, { recursive: true }));

async function start(...flags: string[]): Promise<KumaDp> {
  const ca = join(zone.env['MERIDIAN_GENERAL_WORK_DIR'] ?? '', 'east/dp-server/cert.pem');
  const url = `https://localhost:${String(port)}`;
  const env = { KUMA_DNS_ENABLED: 'false' };
  return await KumaDp.start({ url, ca, envoy: join(folder, 'envoy'), workDir: folder, flags, env });
}

async function write(name: string, text: string): Promise<string> {
  await writeFile(join(folder, name), text);
  return join(folder, name);
}

async function token(): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${String(zone.api)}/tokens/dataplane`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ mesh: 'default', name: 'cart-1', validFor: '1h' }),
  });
  return await write('token', await answer.text());
}

const DATAPLANE = {
  type: 'Dataplane',
  mesh: 'default',
  name: 'cart-1',
  networking: { address: '127.1.0.1', inbound: [{ port: 8080 }] },
};

describe('kuma-dp', () => {
  it('gets the bootstrap of the Dataplane in its file', async () => {
    const file = await write('dataplane.yaml', JSON.stringify(DATAPLANE));
    const run = await start(`--dataplane-file=${file}`, `--dataplane-token-file=${await token()}`);
    await expect.poll(() => run.output, WAIT).toContain('starting Envoy');
    const bootstrap: unknown = parse(await readFile(join(folder, 'bootstrap.yaml'), 'utf8'));
    expect(bootstrap).toMatchObject({
      node: { id: 'default.cart-1' },
      dynamicResources: { adsConfig: { apiType: 'DELTA_GRPC' } },
    });
    await run.stop();
  });

  it('waits for a Dataplane that does not exist yet', async () => {
    const run = await start('--name=cart-1', '--mesh=default', `--dataplane-token-file=${await token()}`);
    await expect.poll(() => zone.lastWords(), WAIT).toContain('the Dataplane does not exist');
    expect(await zone.put('/meshes/default/dataplanes/cart-1', DATAPLANE)).toBe(201);
    await expect.poll(() => run.output, WAIT).toContain('starting Envoy');
    await run.stop();
  });

  it('ends with the reason when it has no token', async () => {
    const file = await write('dataplane.yaml', JSON.stringify(DATAPLANE));
    const run = await start(`--dataplane-file=${file}`);
    expect(await run.ended).not.toBe(0);
    expect(run.output).toContain('a dataplane token is required');
  });
});
