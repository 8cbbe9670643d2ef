// A watch ends when its token is no longer valid: when it is revoked, expires or loses its key.
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tokenAccess } from '../../src/http/access.ts';
import { TokenIssuer } from '../../src/token/token-issuer.ts';
import { defaultAccess } from '../../src/http/access.ts';
import { userRealm, zoneRealm } from '../../src/token/token-realm.ts';
import { TokenVerifier } from '../../src/token/token-verifier.ts';
import { testApi } from '../api/test-api.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { CountingStore, followedSecrets, partOf, putKey, putSecret, revoke } from './signing-secrets.ts';

const HOUR_MS = 3_600_000;
const admin = { name: 'ann', groups: ['mesh-system:admin'] };
let store: CountingStore;
let clock: ManualClock;
let stop: AbortController;
let issuer: TokenIssuer;
let app: FastifyInstance;

beforeEach(async () => {
  store = new CountingStore();
  clock = new ManualClock();
  stop = new AbortController();
  await putKey(store, userRealm, '1');
  const secrets = await followedSecrets(store, stop.signal);
  const now = (): Date => clock.now();
  issuer = new TokenIssuer(secrets, now);
  const config = { type: 'tokens', localhostIsAdmin: false } as const;
  app = testApi(store, 'global', { clock, access: tokenAccess(config, new TokenVerifier(secrets, now), secrets, defaultAccess) });
  await app.listen({ host: '127.0.0.1', port: 0 });
});

afterEach(async () => {
  await app.close();
  stop.abort();
});

/** The events that a watch of the secrets has received so far. */
class WatchReader {
  text = '';
  isOver = false;

  static async of(token: string): Promise<WatchReader> {
    const { port } = app.server.address() as AddressInfo;
    const url = `http://127.0.0.1:${String(port)}/global-secrets?watch=true`;
    const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
    expect(answer.status).toBe(200);
    const watch = new WatchReader();
    void watch.#read(answer);
    await expect.poll(() => watch.text).toContain('event: synced');
    return watch;
  }

  async #read({ body }: Response): Promise<void> {
    const decoder = new TextDecoder();
    for await (const chunk of body ?? []) this.text += decoder.decode(chunk as Uint8Array, { stream: true });
    this.isOver = true;
  }

  async ends(reason: string): Promise<void> {
    await expect.poll(() => this.isOver).toBe(true);
    const last = this.text.trimEnd().split('\n\n').at(-1) ?? '';
    expect(last).toContain('event: error');
    expect(JSON.parse(/data: (.*)/.exec(last)?.[1] ?? '')).toMatchObject({
      ...{ status: 401, title: 'Invalid authentication data', detail: `the user token ${reason}` },
    });
  }
}

const secret = async (name: string): Promise<void> => putSecret(store, zoneRealm, name, 'x');

describe('a watch with a token', () => {
  it('continues while the token is valid, and receives nothing after its revocation', async () => {
    const token = await issuer.user(admin, HOUR_MS);
    const watch = await WatchReader.of(token);
    await secret('before');
    await expect.poll(() => watch.text).toContain('"before"');
    await revoke(store, userRealm, 'another');
    await secret('between');
    await expect.poll(() => watch.text).toContain('"between"');
    await revoke(store, userRealm, String(partOf(token, 1)['jti']));
    await secret('after');
    await watch.ends('was revoked');
    expect(watch.text).not.toContain('"after"');
  });

  it('ends when the token expires', async () => {
    const watch = await WatchReader.of(await issuer.user(admin, HOUR_MS));
    await clock.advance(HOUR_MS - 10_000);
    expect(watch.isOver).toBe(false);
    // Real signatures are checked meanwhile: who looks late looks again two seconds later.
    await expect.poll(async () => (await clock.advance(20_000), watch.isOver)).toBe(true);
    await watch.ends('expired on 2026-01-01T01:00:00.000Z');
  });

  it('ends when the key of its token is deleted', async () => {
    const watch = await WatchReader.of(await issuer.user(admin, HOUR_MS));
    await store.write({ op: 'delete', key: { type: 'GlobalSecret', mesh: '', name: `${userRealm.keyName}-1` } });
    await watch.ends('is signed by key 1, which is not known here');
  });

  it('sends nothing while the validity of the token is unknown, and continues after that', async () => {
    const watch = await WatchReader.of(await issuer.user(admin, HOUR_MS));
    store.beforeRead = () => Promise.reject(new Error('the database is away'));
    await revoke(store, userRealm, 'another');
    await secret('meanwhile');
    await clock.advance(2_000);
    expect(watch.text).not.toContain('"meanwhile"');
    store.beforeRead = () => Promise.resolve();
    await expect
      .poll(async () => {
        await clock.advance(2_000);
        return watch.text;
      })
      .toContain('"meanwhile"');
  });
});
