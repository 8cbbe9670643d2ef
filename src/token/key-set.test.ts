import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { messageOf } from '../base/errors.ts';
import type { Resource } from '../resource/types.ts';
import { base64, pairOf } from '../../test/token/signing-secrets.ts';
import { KeySet } from './key-set.ts';
import { dataplaneRealm, federatedZoneRealm, userRealm, type TokenRealm } from './token-realm.ts';

const { privatePem, publicPem } = pairOf('user1');

function row(name: string, text: string, type = 'GlobalSecret'): Resource {
  const time = new Date(0);
  return {
    ...{ type, mesh: '', name, labels: {}, spec: { data: base64(text) }, status: {}, version: 0 },
    ...{ creationTime: time, modificationTime: time, owner: null, syncVersion: null },
  };
}

describe('KeySet', () => {
  it('signs with the numerically highest serial, and verifies with the others', () => {
    const names = ['', '-1', '-9', '-10', '-09', '-old'].map((suffix) => row(`user-token-signing-key${suffix}`, privatePem));
    const keys = new KeySet(userRealm, names);
    expect(keys.signer().kid).toBe('10');
    for (const kid of ['0', '1', '9', '10', '09', 'old']) expect(keys.find(kid)).toHaveProperty('publicKey');
    expect(keys.find('2')).toBeUndefined();
  });

  it('accepts serials larger than a safe integer', () => {
    const serials = ['9007199254740993', '9007199254740992', '100000000000000000000'];
    const keys = new KeySet(
      userRealm,
      serials.map((kid) => row(`user-token-signing-key-${kid}`, privatePem)),
    );
    expect(keys.signer().kid).toBe('100000000000000000000');
  });

  it('signs with the key without a suffix when no other exists', () => {
    expect(new KeySet(userRealm, [row('user-token-signing-key', privatePem)]).signer().kid).toBe('0');
  });

  it('reports a missing key with its expected place', () => {
    const problemOf = (realm: TokenRealm): unknown => {
      try {
        return new KeySet(realm, []).signer();
      } catch (error) {
        return messageOf(error);
      }
    };
    expect(problemOf(userRealm)).toBe('there is no GlobalSecret user-token-signing-key-1 to sign user tokens with');
    expect(problemOf(dataplaneRealm('shop'))).toBe(
      'there is no Secret dataplane-token-signing-key-shop-1 to sign dataplane tokens with; does the mesh "shop" exist?',
    );
  });

  it('holds public keys in a federated zone, and refers to global for tokens', () => {
    const keys = new KeySet(federatedZoneRealm, [row('zone-token-signing-public-key-1', publicPem)]);
    expect(keys.find('1')).toMatchObject({ privateKey: null });
    expect(() => keys.signer()).toThrow('zone tokens are signed by the global of this zone');
  });

  it.each([
    ['text', 'top secret text'],
    ['nothing', ''],
    ['a public key', publicPem],
    ['a short key', shortPem()],
    ['a key of another kind', ecPem()],
  ])('names a row that holds %s, without its text', (_what, pem) => {
    const keys = new KeySet(userRealm, [row('user-token-signing-key-2', pem), row('user-token-signing-key-1', privatePem)]);
    const problem = 'GlobalSecret user-token-signing-key-2 holds no PEM "RSA PRIVATE KEY" of at least 2048 bits';
    expect(keys.find('2')).toEqual({ kid: '2', problem });
    expect(() => keys.signer()).toThrow(`user tokens cannot be signed: ${problem}`);
    expect(keys.find('1')).toHaveProperty('publicKey');
  });

  it('adds the public keys of the configuration', () => {
    const extra = [
      { kid: 'offline', key: publicPem },
      { kid: 'bad', key: 'x' },
    ];
    const keys = new KeySet(userRealm, [row('user-token-signing-key-1', privatePem)], extra);
    expect(keys.find('offline')).toMatchObject({ privateKey: null });
    expect(keys.find('bad')).toHaveProperty('problem');
    expect(keys.signer().kid).toBe('1');
  });

  it('holds a bounded number of keys, the newest', () => {
    const rows = Array.from({ length: 300 }, (_, serial) => row(`user-token-signing-key-${String(serial + 1)}`, 'x'));
    const keys = new KeySet(userRealm, rows);
    expect(keys.find('300')).toBeDefined();
    expect(keys.find('101')).toBeDefined();
    expect(keys.find('100')).toBeUndefined();
  });
});

function shortPem(): string {
  return generateKeyPairSync('rsa', {
    modulusLength: 1024,
    publicKeyEncoding: { type: 'pkcs1', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  }).privateKey;
}

function ecPem(): string {
  return generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'sec1', format: 'pem' },
  }).privateKey;
}
