import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { expect, it } from 'vitest';
import { MeridianError } from '../../base/errors.ts';
import { secretSpec } from '../../resource/secret-data.ts';
import { signJwt } from '../../token/jwt.ts';
import { userRealm } from '../../token/token-realm.ts';
import type { Item } from './api-client.ts';
import { whereIssued } from './issued-here.ts';

const [own, other] = [newKey(), newKey()];

function newKey(): KeyObject {
  return generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
}

function keyRow(name: string): Item {
  return { type: 'GlobalSecret', name, ...secretSpec(String(own.export({ type: 'pkcs1', format: 'pem' }))) };
}

const client = { list: async () => [keyRow('user-token-signing-key-1')] };
/** The token expired long ago. */
const tokenOf = (kid: string, key: KeyObject): Promise<string> => signJwt({ Name: 'jo', jti: 'a', exp: 1 }, kid, key);

it('a token is of the control plane with the key of its signature', async () => {
  expect(await whereIssued(client, userRealm, await tokenOf('1', own))).toBe('here');
  expect(await whereIssued(client, userRealm, await tokenOf('1', other))).toBe('elsewhere');
  expect(await whereIssued(client, userRealm, 'no token')).toBe('elsewhere');
});

it('the issuer of a token is unknown where its key cannot be read', async () => {
  expect(await whereIssued(client, userRealm, await tokenOf('2', other))).toBe('unknown');
  const failing = (code: 'forbidden' | 'unavailable') => ({ list: () => Promise.reject(new MeridianError(code, code)) });
  expect(await whereIssued(failing('forbidden'), userRealm, await tokenOf('1', own))).toBe('unknown');
  await expect(whereIssued(failing('unavailable'), userRealm, await tokenOf('1', own))).rejects.toThrow('unavailable');
});
