// A zone-token signing key goes to zones as its public half (kds-wire 5.3.2).
import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { frozen, resource } from '../../../test/support/rule-rows.ts';
import { MeridianError } from '../../base/errors.ts';
import type { WireResource } from '../../resource/codec.ts';
import { label } from '../../resource/labels.ts';
import { typeOf } from '../../resource/type-registry.ts';
import type { JsonObject, Labels, Resource } from '../../resource/types.ts';
import { globalSendRules } from './rules.ts';

describe('a zone-token signing key (kds-wire 5.3.2)', () => {
  const { privateKey: pem } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
    publicKeyEncoding: { type: 'pkcs1', format: 'pem' },
  });
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const key = (name: string, spec: JsonObject, labels: Labels = {}): Resource => resource('GlobalSecret', { name, spec, labels });
  const map = (secret: Resource): WireResource => globalSendRules().map(frozen(secret), typeOf('GlobalSecret'));

  it.each([
    ['zone-token-signing-key-1', 'zone-token-signing-public-key-1'],
    ['zone-token-signing-key-12', 'zone-token-signing-public-key-12'],
    ['zone-token-signing-key', 'zone-token-signing-public-key'],
  ])('%s is sent to zones as %s, with its public half only', (name, onWire) => {
    const sent = map(key(name, { data: base64(pem) }));
    expect(sent).toMatchObject({ name: onWire, mesh: '', status: undefined });
    expect(sent.labels).toEqual({ [label.origin]: 'global', [label.displayName]: name });
    const published = Buffer.from(String(sent.spec['data']), 'base64').toString();
    expect(published).toMatch(/^-----BEGIN RSA PUBLIC KEY-----\n/);
    expect(published).not.toContain('PRIVATE');
    expect(createPublicKey(published).equals(createPublicKey(createPrivateKey(pem)))).toBe(true);
    expect(Object.keys(sent.spec)).toEqual(['data']);
  });

  it('keeps an existing display name', () => {
    const sent = map(key('zone-token-signing-key-1', { data: base64(pem) }, { [label.displayName]: 'mine' }));
    expect(sent.labels[label.displayName]).toBe('mine');
  });

  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'sec1', format: 'pem' });

  it.each<[string, JsonObject]>([
    ['no data', {}],
    ['data that is no PEM', { data: base64('no key at all') }],
    ['half a PEM', { data: base64(pem.slice(0, pem.length / 2)) }],
    ['a public key', { data: base64(String(createPublicKey(pem).export({ type: 'pkcs1', format: 'pem' }))) }],
    ['a key that is not RSA', { data: base64(String(ec)) }],
    ['data of another type', { data: 7 }],
  ])('with %s gives an error that names the secret without its data', (_, spec) => {
    const secret = key('zone-token-signing-key-1', spec);
    expect(() => map(secret)).toThrow(MeridianError);
    expect(() => map(secret)).toThrow(/^GlobalSecret zone-token-signing-key-1 holds no PEM "RSA PRIVATE KEY"/);
    expect(() => map(secret)).not.toThrow(/BEGIN/);
  });
});
