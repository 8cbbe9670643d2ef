// The clients that are asked for a certificate, and the replacement of the server's certificate.
import { expect, it } from 'vitest';
import { ServerCredentials } from '@grpc/grpc-js';
import { ReplaceableCredentials, type KdsServerTls } from './server-credentials.ts';

const [cert, key, ca] = ['cert', 'key', 'ca'].map((text) => Buffer.from(text)) as [Buffer, Buffer, Buffer];

function credentialsWith(tls: Partial<KdsServerTls> = {}, authority: Buffer | null = null): ReplaceableCredentials {
  return new ReplaceableCredentials({
    ...{ material: { cert, key, ca: authority }, requireClientCert: false, minVersion: 'TLSv1.3' },
    ...tls,
  });
}

it.each<[what: string, authority: Buffer | null, requireClientCert: boolean, requestCert: boolean]>([
  ['of no client without an authority', null, false, false],
  ['of clients that have one, with an authority', ca, false, true],
  ['of every client where it is required', null, true, true],
  ['of every client where it is required, with an authority', ca, true, true],
])('a certificate is asked %s', (_, authority, requireClientCert, requestCert) => {
  expect(credentialsWith({ requireClientCert }, authority)._getConstructorOptions()).toEqual({
    ...{ requestCert, rejectUnauthorized: requireClientCert, handshakeTimeout: 10_000 },
  });
});

it('the certificate of the server, its key and its authority are replaced, and the version of TLS stays', () => {
  const credentials = credentialsWith();
  expect(credentials._getSecureContextOptions()).toEqual({ cert, key, minVersion: 'TLSv1.3' });
  credentials.replace({ cert: key, key: cert, ca });
  expect(credentials._getSecureContextOptions()).toEqual({ cert: key, key: cert, ca, minVersion: 'TLSv1.3' });
});

it('credentials equal themselves alone', () => {
  const credentials = credentialsWith();
  expect([credentials._equals(credentials), credentials._equals(credentialsWith())]).toEqual([true, false]);
  expect(credentials._equals(ServerCredentials.createInsecure())).toBe(false);
});
