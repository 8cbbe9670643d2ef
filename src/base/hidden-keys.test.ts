import { describe, expect, it } from 'vitest';
import { keyFinds } from '../../test/support/key-finds.ts';
import { HIDDEN, withoutKeyBytes, withoutKeys } from './hidden-keys.ts';
import { createSelfSigned } from './self-signed.ts';

const [{ certPem, keyPem }, other] = await Promise.all([
  createSelfSigned('client', ['one'], new Date()),
  createSelfSigned('client', ['other'], new Date()),
]);
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const inLines = (text: string): string => text.replaceAll(/.{76}/g, '$&\n');
const rsa = keyPem.replaceAll('PRIVATE KEY', 'RSA PRIVATE KEY');

describe('a text without private keys', () => {
  it.each<[what: string, text: string, expected: string]>([
    ['a key', keyPem, `${HIDDEN}\n`],
    ['a key of an older form', rsa, `${HIDDEN}\n`],
    ['a key beside a certificate', certPem + keyPem + certPem, `${certPem}${HIDDEN}\n${certPem}`],
    ['two keys', `${keyPem}x${other.keyPem}`, `${HIDDEN}\nx${HIDDEN}\n`],
    ['a string of JSON', JSON.stringify({ a: certPem + keyPem, b: 1 }), JSON.stringify({ a: `${certPem}${HIDDEN}\n`, b: 1 })],
    ['JSON in a string of JSON', JSON.stringify(JSON.stringify([keyPem])), JSON.stringify(JSON.stringify([`${HIDDEN}\n`]))],
    ['base64', JSON.stringify({ inlineBytes: base64(keyPem) }), JSON.stringify({ inlineBytes: HIDDEN })],
    ['base64 behind a certificate', `x: "${base64(certPem + keyPem)}"`, `x: "${HIDDEN}"`],
    ['base64 at the second place', `x: "${base64(`y${keyPem}`)}"`, `x: "${HIDDEN}"`],
    ['base64 at the third place', `x: "${base64(`yz${keyPem}`)}"`, `x: "${HIDDEN}"`],
    ['base64 for URLs', `"${Buffer.from(keyPem).toString('base64url')}"`, `"${HIDDEN}"`],
    ['base64 in lines', JSON.stringify([inLines(base64(certPem + keyPem))]), JSON.stringify([HIDDEN])],
    ['a key that is cut', JSON.stringify([keyPem.slice(0, 120), 'next']), JSON.stringify([HIDDEN, 'next'])],
    [
      'a key that is cut, in JSON in a string of JSON',
      JSON.stringify(JSON.stringify([keyPem.slice(0, 120)])),
      JSON.stringify(JSON.stringify([HIDDEN])),
    ],
    ['a certificate', certPem + base64(certPem), certPem + base64(certPem)],
    ['a sentence', 'holds a PRIVATE KEY----- or not', 'holds a PRIVATE KEY----- or not'],
    ['nothing', '', ''],
  ])('%s', (_, text, expected) => {
    expect(withoutKeys(text)).toBe(expected);
    expect(Buffer.from(withoutKeyBytes(Buffer.from(`ä${text}`))).toString()).toBe(`ä${expected}`);
    for (const pem of [keyPem, other.keyPem]) expect(keyFinds(expected.replaceAll('PRIVATE KEY', ''), pem)).toEqual([]);
  });

  it('is the same object where it holds none', () => {
    const bytes = Buffer.from(certPem);
    expect(withoutKeyBytes(bytes)).toBe(bytes);
  });

  it('takes time in proportion to its length', () => {
    for (const one of [
      'PRIVATE KEY-----',
      '-----BEGIN PRIVATE KEY-----"',
      '-----BEGIN PRIVATE KEY-----',
      '-----END PRIVATE KEY-----',
    ])
      expect(withoutKeys(one.repeat(50_000))).not.toContain('-----BEGIN');
    const many = '-----BEGIN PRIVATE KEY-----'.repeat(20_000);
    expect(withoutKeys(many).length).toBeLessThan(many.length);
    expect(withoutKeys(`PRIVATE KEY-----${'a'.repeat(1_000_000)}`)).toHaveLength(1_000_016);
  });
});
