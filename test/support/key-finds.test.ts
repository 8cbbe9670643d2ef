import { createPrivateKey } from 'node:crypto';
import { expect, it } from 'vitest';
import { createSelfSigned } from '../../src/base/self-signed.ts';
import { keyFinds } from './key-finds.ts';

const [{ certPem, keyPem }, other] = await Promise.all([
  createSelfSigned('client', ['one'], new Date()),
  createSelfSigned('client', ['one'], new Date()),
]);
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const der = createPrivateKey(keyPem).export({ type: 'pkcs8', format: 'der' });

it.each<[what: string, found: boolean, text: string]>([
  ['a key', true, keyPem],
  ['a key behind a certificate, in JSON', true, JSON.stringify({ a: certPem + keyPem })],
  ['one line of it', true, keyPem.split('\n')[1] ?? ''],
  ['a Secret', true, base64(certPem + keyPem)],
  ['a Secret in base64', true, base64(`x${base64(`xy${certPem}${keyPem}`)}`)],
  ['base64 for URLs', true, Buffer.from(keyPem).toString('base64url')],
  ['its bytes in hex', true, der.toString('hex')],
  ['its bytes', true, der.toString('latin1')],
  ['its bytes in base64', true, der.toString('base64')],
  ['a URL', true, encodeURIComponent(keyPem)],
  ['the certificate', false, certPem + base64(certPem) + base64(base64(certPem))],
  ['a key of another', false, other.keyPem.replaceAll('PRIVATE KEY', '')],
])('in %s: a key is found: %s', (_, found, text) => {
  expect(keyFinds(text, keyPem).length > 0).toBe(found);
});
