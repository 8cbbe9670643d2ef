import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { makeRow } from '../../test/support/make-row.ts';
import { systemClock } from '../base/clock.ts';
import type { Resource } from '../resource/types.ts';
import { askEnvoy } from './envoy-dumps.ts';

const at = { mesh: 'shop', name: 'cart-1' };
let folder: string;
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'dump-'))));
afterEach(() => rm(folder, { recursive: true }));

/** An Envoy of a Dataplane, with its admin interface at a path of the folder. */
async function envoy(id: string, socket: string): Promise<void> {
  const server = createServer(({ url }, response) =>
    response.end(url === '/server_info' ? JSON.stringify({ node: { id } }) : `the answer to ${url ?? ''}`),
  ).listen(join(folder, socket));
  await once(server, 'listening');
  onTestFinished(() => void server.close());
}

/** Asks for the clusters of a proxy that says where its admin interface is. */
async function ask(socketPath: string): Promise<string> {
  const metadata = { workdir: folder, 'dataplane.admin.socketPath': socketPath };
  const subscriptions = [{ id: '1', connectTime: '2026-01-01T00:00:00Z' }];
  const insight: Resource = makeRow('DataplaneInsight', at.name, { mesh: at.mesh, spec: { metadata, subscriptions } });
  const store = { get: () => Promise.resolve(insight) };
  const options = { json: false, usedOnly: false, includeEds: false };
  return Buffer.from(await askEnvoy({ store, clock: systemClock }, at, 'clusters', options)).toString();
}

describe('askEnvoy', () => {
  it('asks the Envoy of the Dataplane', async () => {
    await envoy('shop.cart-1', 'kuma-envoy-admin.sock');
    expect(await ask(join(folder, 'kuma-envoy-admin.sock'))).toBe('the answer to /clusters?');
  });

  it('asks no other socket than that of the work folder of the proxy', async () => {
    await envoy('shop.cart-1', 'other.sock');
    await expect(ask(join(folder, 'other.sock'))).rejects.toThrow('is a socket on another machine');
  });

  it('tells nothing of the Envoy of another Dataplane', async () => {
    await envoy('shop.cart-2', 'kuma-envoy-admin.sock');
    await expect(ask(join(folder, 'kuma-envoy-admin.sock'))).rejects.toThrow('names the admin interface of another Envoy');
  });
});
