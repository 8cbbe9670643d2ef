// HTTPS and KDS with client certificates: a client without one, or with one of another authority, gets no answer.
import { get } from 'node:https';
import { Client, credentials, Server, status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { HttpsListener } from '../../src/http/https-listener.ts';
import { createAuthority, type Certificate } from '../../src/base/self-signed.ts';
import { ReplaceableCredentials } from '../../src/kds/server/server-credentials.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { testApi } from '../api/test-api.ts';

const hosts = { hosts: ['localhost', '127.0.0.1'] };
const [authority, foreign] = [await createAuthority('ours', new Date()), await createAuthority('foreign', new Date())];
const [server, own, other] = [await authority.issue(hosts), await authority.issue(hosts), await foreign.issue(hosts)];
const tls = {
  material: { cert: Buffer.from(server.certPem), key: Buffer.from(server.keyPem), ca: Buffer.from(authority.certPem) },
  requireClientCert: true,
  minVersion: 'TLSv1.2',
  clock: systemClock,
} as const;

describe('the HTTPS API', () => {
  let app: ReturnType<typeof testApi>;
  let port: number;
  beforeEach(async () => {
    app = testApi(new TinyStore(), 'global');
    const https = new HttpsListener(app, tls);
    await app.ready();
    port = await https.listen('127.0.0.1', 0);
  });
  afterEach(async () => app.close());

  const ask = async (identity: Certificate | null): Promise<number | undefined> =>
    await new Promise((resolve, reject) => {
      const shown = identity === null ? {} : { cert: identity.certPem, key: identity.keyPem };
      const asked = get(
        { host: '127.0.0.1', port, path: '/', servername: 'localhost', ca: authority.certPem, agent: false, ...shown },
        (answer) => {
          answer.resume().once('end', () => resolve(answer.statusCode));
        },
      );
      asked.on('error', reject);
    });

  it('answers a client with a certificate of its authority', async () => {
    expect(await ask(own)).toBe(200);
  });

  it.each([
    ['none', null],
    ['one of another authority', other],
  ])('does not answer a client with %s', async (_what, identity) => {
    await expect(ask(identity)).rejects.toThrow();
  });
});

describe('KDS', () => {
  const grpc = new Server();
  afterEach(() => grpc.forceShutdown());

  it('authenticates zones by their certificates', async () => {
    const port = await new Promise<number>((resolve, reject) => {
      grpc.bindAsync('127.0.0.1:0', new ReplaceableCredentials(tls), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      );
    });
    const ask = async (identity: Certificate | null): Promise<number | undefined> => {
      const [key, cert] = identity === null ? [null, null] : [Buffer.from(identity.keyPem), Buffer.from(identity.certPem)];
      const client = new Client(`127.0.0.1:${String(port)}`, credentials.createSsl(Buffer.from(authority.certPem), key, cert));
      const same = (bytes: Buffer): Buffer => bytes;
      const deadline = Date.now() + 20_000;
      return (await new Promise((resolve) => {
        client.makeUnaryRequest('/none/None', same, same, Buffer.alloc(0), { deadline }, (error) => resolve(error?.code));
      }).finally(() => client.close())) as number | undefined;
    };
    // An admitted client gets the answer that the method does not exist.
    expect(await ask(own)).toBe(status.UNIMPLEMENTED);
    for (const identity of [null, other]) expect(await ask(identity)).toBe(status.UNAVAILABLE);
  });
});
