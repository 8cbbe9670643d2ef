// Keys that sign tokens: RSA, 2048 bits, PEM `RSA PRIVATE KEY` in PKCS#1, as Kuma stores them (kds-wire 8).
import { generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';

const generate = promisify(generateKeyPair);

/** A new private key as PEM text. It takes some tenths of a second, outside the event loop. */
export async function createSigningKey(): Promise<string> {
  const { privateKey } = await generate('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'pkcs1', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  });
  return privateKey;
}
