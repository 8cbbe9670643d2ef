// Certificates made here: a CA and what it signs, for the demo and for a global that was given none.
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';

export type Certificate = { readonly certPem: string; readonly keyPem: string };
export type Authority = Certificate & { readonly issue: (subject: { hosts: readonly string[] }) => Promise<Certificate> };

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const DAY_MS = 86_400_000;

/** A certificate authority that lives for ten years; its certificates count from a day ago, for clocks that run behind. */
export async function createAuthority(name: string): Promise<Authority> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const validity = { notBefore: new Date(Date.now() - DAY_MS), notAfter: new Date(Date.now() + 3650 * DAY_MS) };
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: `CN=${name} CA`,
    ...validity,
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
    ],
  });
  return {
    certPem: certificate.toString('pem'),
    keyPem: await keyPemOf(keys.privateKey),
    async issue({ hosts }) {
      const own = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
      const issued = await X509CertificateGenerator.create({
        subject: `CN=${name}`,
        issuer: certificate.subject,
        ...validity,
        publicKey: own.publicKey,
        signingKey: keys.privateKey,
        signingAlgorithm: ALGORITHM,
        extensions: [
          new BasicConstraintsExtension(false, undefined, true),
          new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth]),
          new SubjectAlternativeNameExtension(hosts.map((value) => ({ type: isIP(value) === 0 ? 'dns' : 'ip', value }))),
        ],
      });
      return { certPem: issued.toString('pem'), keyPem: await keyPemOf(own.privateKey) };
    },
  };
}

async function keyPemOf(key: webcrypto.CryptoKey): Promise<string> {
  return PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY');
}
