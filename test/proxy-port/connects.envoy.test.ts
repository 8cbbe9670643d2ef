// A real Envoy comes to the port with the bootstrap that it was given there.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { messagesOf } from '../../src/grpc/messages-of.ts';
import { decodeDeltaRequest } from '../../src/wire/kds-messages.ts';
import { endWithTest } from '../support/children.ts';
import { CART, OpenPort } from './open-port.ts';

type Seen = { readonly node: string; readonly typeUrl: string; readonly bytes: number };

const seen: Seen[] = [];
const server = new OpenPort();
let folder: string;

beforeAll(async () => {
  await server.start({
    host: 'localhost',
    async serve({ call, admit }) {
      for await (const message of messagesOf(call as unknown as Duplex)) {
        const { node, typeUrl } = decodeDeltaRequest(message);
        await admit(CART);
        seen.push({ node: node?.id ?? '', typeUrl, bytes: message.length });
      }
    },
  });
});
afterAll(() => server.close());
beforeEach(async () => {
  seen.length = 0;
  server.logged.length = 0;
  folder = await mkdtemp(join(tmpdir(), 'meridian-envoy-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** Starts an Envoy on the bootstrap of the port. Returns what ends it. */
async function start(token: string, change: (bootstrap: string) => string = (same) => same): Promise<() => Promise<void>> {
  const answer = await server.bootstrap({ mesh: 'shop', name: 'cart-1', dataplaneToken: token, workdir: folder });
  expect(answer.status).toBe(200);
  const { bootstrap } = JSON.parse(answer.body) as { bootstrap: string };
  const file = join(folder, 'bootstrap.json');
  await writeFile(file, change(Buffer.from(bootstrap, 'base64').toString()));
  const args = ['-c', file, '--disable-hot-restart', '--concurrency', '1', '--log-level', 'error'];
  const child = endWithTest(spawn(inject('envoy'), args, { stdio: 'ignore' }));
  const exit = once(child, 'exit');
  return async () => {
    child.kill('SIGTERM');
    await exit;
  };
}

describe('an Envoy', () => {
  it('is admitted with its token, and identifies itself first', async () => {
    const stop = await start(await server.token({ name: 'cart-1' }));
    await expect.poll(() => seen[0]).toBeDefined();
    expect(seen[0]).toMatchObject({ node: 'shop.cart-1', typeUrl: 'type.googleapis.com/envoy.config.cluster.v3.Cluster' });
    expect(seen[0]?.bytes).toBeGreaterThan(30_000);
    await expect.poll(() => server.logged.join('')).toContain('stream opened');
    await stop();
    await expect.poll(() => server.logged.join('')).toContain('stream closed');
  });

  it('tries again and again with a wrong token, and one line says so', async () => {
    // A wrong token gets no bootstrap. This one became wrong later.
    const [good, wrong] = [await server.token({ name: 'cart-1' }), await server.token({ name: 'cart-2' })];
    const stop = await start(good, (bootstrap) => bootstrap.replace(good, wrong));
    const ofToken = (): string[] => server.logged.filter((line) => line.includes('is for Dataplane \\"cart-2\\"'));
    await expect.poll(ofToken).not.toEqual([]);
    await stop();
    expect(ofToken()).toHaveLength(1);
  });

  it('is not served state-of-the-world xDS', async () => {
    const stop = await start(await server.token(), (bootstrap) => bootstrap.replace('"DELTA_GRPC"', '"GRPC"'));
    await expect.poll(() => server.logged.join('')).toContain('DELTA_GRPC');
    expect(seen).toEqual([]);
    await stop();
  });
});
