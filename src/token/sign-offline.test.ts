import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { TinyStore } from '../../test/support/tiny-store.ts';
import { pairOf, partOf, putKey } from '../../test/token/signing-secrets.ts';
import { createSigningKey } from '../defaults/signing-key.ts';
import { parseSigningKey, signOffline } from './sign-offline.ts';
import { dataplaneRealm, userRealm, zoneRealm, type TokenKind } from './token-realm.ts';
import { TokenSecrets } from './token-secrets.ts';
import { TokenVerifier } from './token-verifier.ts';

const now = (): Date => new Date('2026-01-01T00:00:00Z');
const REQUESTS = {
  user: { name: 'ann', groups: ['dev'], validFor: '1h' },
  zone: { zone: 'east', scope: ['cp'], validFor: '1h' },
  dataplane: { name: 'web', mesh: 'shop', tags: { team: ['a'] }, type: '', workload: '', validFor: '1h' },
};
const REALMS = { user: userRealm, zone: zoneRealm, dataplane: dataplaneRealm('shop') };
const KINDS = ['user', 'zone', 'dataplane'] as const;

async function verified(verifier: TokenVerifier, kind: TokenKind, token: string) {
  return kind === 'dataplane' ? await verifier.dataplane(token, 'shop') : await verifier[kind](token);
}

describe.each(KINDS)('a %s token that is signed offline', (kind) => {
  const pair = pairOf(`offline ${kind}`);
  const sign = (kid: string): Promise<string> => signOffline(kind, REQUESTS[kind], { kid, privateKey: pair.privateKey }, now);

  it('is valid when the store has the key under that kid, and under no other', async () => {
    const store = new TinyStore();
    await putKey(store, REALMS[kind], '2', pair);
    const verifier = new TokenVerifier(new TokenSecrets({ store, federated: false }), now);
    expect(await verified(verifier, kind, await sign('2'))).toMatchObject({
      ok: true,
      expiresAt: new Date('2026-01-01T01:00:00Z'),
    });
    expect(await verified(verifier, kind, await sign('1'))).toMatchObject({ ok: false });
  });

  it('is valid when the configuration has only the public key', async () => {
    const publicKeys = { [kind]: [{ kid: 'laptop', key: pair.publicPem }] };
    const verifier = new TokenVerifier(new TokenSecrets({ store: new TinyStore(), federated: false, publicKeys }), now);
    expect(await verified(verifier, kind, await sign('laptop'))).toMatchObject({ ok: true });
  });

  it('gives the same errors as a control plane', async () => {
    const claims = partOf(await sign('1'), 1);
    const said = {
      user: { Name: 'ann', Groups: ['dev'] },
      zone: { Zone: 'east', Scope: ['cp'] },
      dataplane: { Mesh: 'shop', Name: 'web' },
    };
    expect(claims).toMatchObject({ ...said[kind], iat: now().getTime() / 1000 - 5 });
  });
});

it('is refused with the fields that a control plane refuses', async () => {
  const key = { kid: '1', privateKey: pairOf('offline user').privateKey };
  await expect(signOffline('zone', { zone: 'East', validFor: 'soon' }, key, now)).rejects.toMatchObject({
    code: 'invalid',
    violations: [
      { field: 'zone', reason: expect.stringContaining('must be the name of a zone') as unknown },
      { field: 'validFor', reason: expect.stringContaining('must be a positive duration') as unknown },
    ],
  });
});

it('is refused if it is longer than a control plane takes', async () => {
  const key = { kid: '1', privateKey: pairOf('offline user').privateKey };
  const request = { name: 'ann', groups: ['g'.repeat(8_000)], validFor: '1h' };
  await expect(signOffline('user', request, key, now)).rejects.toMatchObject({
    code: 'invalid',
    violations: [{ field: 'groups', reason: expect.stringContaining('longer than 8192 characters') as unknown }],
  });
});

it('is signed with an RSA private key of 2048 bits in PEM only', async () => {
  const pem = await createSigningKey();
  expect(parseSigningKey(pem)).not.toBeNull();
  expect(parseSigningKey(createPrivateKey(pem).export({ type: 'pkcs8', format: 'pem' }).toString())).not.toBeNull();
  const weak = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey.export({ type: 'pkcs1', format: 'pem' });
  const elliptic = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'sec1', format: 'pem' });
  const locked = createPrivateKey(pem).export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' });
  for (const text of ['', 'no key', pairOf('offline user').publicPem, weak, elliptic, locked])
    expect(parseSigningKey(text.toString())).toBeNull();
});
