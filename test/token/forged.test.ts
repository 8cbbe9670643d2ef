// Forged tokens: none is accepted, with any algorithm and key in the header.
import { createHmac, createPublicKey, createSign, generateKeyPairSync, sign } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { TokenSecrets } from '../../src/token/token-secrets.ts';
import { TokenVerifier } from '../../src/token/token-verifier.ts';
import { userRealm, zoneRealm } from '../../src/token/token-realm.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { pairOf, putKey, timesAt } from './signing-secrets.ts';

const now = new Date('2026-01-01T00:00:00Z');
const admin = { ...timesAt(now), Name: 'mesh-system:admin', Groups: ['mesh-system:admin'] };
const { privateKey, publicPem } = pairOf('user1');
let verifier: TokenVerifier;

beforeEach(async () => {
  const store = new TinyStore();
  await putKey(store, userRealm, '1');
  await putKey(store, zoneRealm, '1');
  verifier = new TokenVerifier(new TokenSecrets({ store, federated: false }), () => now);
});

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const inputOf = (header: object, claims: object = admin): string => `${encode(header)}.${encode(claims)}`;
const rs256 = (input: string, key = privateKey): string => createSign('RSA-SHA256').update(input).sign(key, 'base64url');

async function reasonFor(token: string): Promise<string> {
  const outcome = await verifier.user(token);
  return outcome.ok ? 'it counts' : outcome.reason;
}

describe('a forged token', () => {
  it('is valid when it is not forged, which validates the other tests of this file', async () => {
    const input = inputOf({ alg: 'RS256', kid: '1' });
    expect(await reasonFor(`${input}.${rs256(input)}`)).toBe('it counts');
  });

  it.each(['none', 'None', 'NONE', 'nOnE', '', 'RS256 ', 'rs256'])('is refused with algorithm %o', async (alg) => {
    const input = inputOf({ alg, kid: '1' });
    for (const signature of ['', rs256(input)])
      expect(await reasonFor(`${input}.${signature}`)).toMatch(/^is signed with .*; only RS256 counts$/);
  });

  it('is refused without a signature', async () => {
    expect(await reasonFor(`${inputOf({ alg: 'RS256', kid: '1' })}.`)).toBe('does not have the signature of key 1');
  });

  it('is refused with an HS256 signature by the public key', async () => {
    const spki = createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }).toString();
    for (const alg of ['HS256', 'RS256'])
      for (const secret of [publicPem, publicPem.trim(), spki, spki.trim()]) {
        const input = inputOf({ alg, kid: '1' });
        const token = `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`;
        expect(await reasonFor(token)).toBe(
          alg === 'HS256' ? 'is signed with "HS256"; only RS256 counts' : 'does not have the signature of key 1',
        );
      }
  });

  it.each(['RS384', 'RS512', 'PS256', 'ES256', 'EdDSA'])('is refused with a signature of %s', async (alg) => {
    const input = inputOf({ alg, kid: '1' });
    const hash = alg.endsWith('384') ? 'sha384' : alg.endsWith('512') ? 'sha512' : 'sha256';
    const signature = sign(hash, Buffer.from(input), privateKey).toString('base64url');
    expect(await reasonFor(`${input}.${signature}`)).toBe(`is signed with "${alg}"; only RS256 counts`);
  });

  it('is refused with a key in its own header', async () => {
    const own = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const jwk = own.publicKey.export({ format: 'jwk' });
    for (const extra of [{ jwk }, { jku: 'http://127.0.0.1:1/keys' }, { x5c: ['AAAA'] }, { x5u: 'http://127.0.0.1:1/' }]) {
      const input = inputOf({ alg: 'RS256', kid: '1', ...extra });
      expect(await reasonFor(`${input}.${rs256(input, own.privateKey)}`)).toBe('does not have the signature of key 1');
    }
  });

  it.each(['2', '01', '1 ', ' 1', '0', '-1', '1.0', '../1', '__proto__', 'constructor', '', 'user-token-signing-key-1'])(
    'is refused with kid %o',
    async (kid) => {
      const input = inputOf({ alg: 'RS256', kid });
      expect(await reasonFor(`${input}.${rs256(input)}`)).toMatch(/which is not known here$|its header has no kid$/);
    },
  );

  it.each([1, null, ['1'], { 1: 1 }])('is refused with kid %o, which is not a string', async (kid) => {
    const input = inputOf({ alg: 'RS256', kid });
    expect(await reasonFor(`${input}.${rs256(input)}`)).toMatch(/its header has no kid$/);
  });

  it('is refused with another payload under the old signature', async () => {
    const input = inputOf({ alg: 'RS256', kid: '1' }, { ...admin, Name: 'ann' });
    const other = inputOf({ alg: 'RS256', kid: '1' });
    expect(await reasonFor(`${other}.${rs256(input)}`)).toBe('does not have the signature of key 1');
  });

  it('is refused with a signature by the key of zone tokens', async () => {
    const input = inputOf({ alg: 'RS256', kid: '1' });
    expect(await reasonFor(`${input}.${rs256(input, pairOf('zone1').privateKey)}`)).toBe('does not have the signature of key 1');
  });

  it('is refused with unknown header extensions', async () => {
    for (const extra of [{ crit: ['x'], x: 1 }, { crit: ['b64'], b64: false }, { crit: [] }]) {
      const input = inputOf({ alg: 'RS256', kid: '1', ...extra });
      expect(await reasonFor(`${input}.${rs256(input)}`)).not.toBe('it counts');
    }
  });
});
