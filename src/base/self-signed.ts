// Certificates made here, good for ten years: a CA with its certificates, for the demo and for a global without configured files;
// and a self-signed certificate for deployments: a client that trusts it trusts no other certificate. Invariant: a certificate names the
// key of its issuer, so that a file of authorities may have several of one name.
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
  type X509Certificate,
} from '@peculiar/x509';

/** The texts are PEM and end with a line feed. */
export type Certificate = { readonly certPem: string; readonly keyPem: string };
export type Authority = Certificate & { readonly issue: (subject: { hosts: readonly string[] }) => Promise<Certificate> };

export const P256 = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const DAY_MS = 86_400_000;

/** A certificate authority. Its certificates expire with it, and are valid for servers and clients. */
export async function createAuthority(name: string, now: Date): Promise<Authority> {
  const keys = await makeKeys();
  const validity = validityFrom(now);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: `CN=${name} CA`,
    ...validity,
    keys,
    signingAlgorithm: P256,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return {
    ...(await inPem(certificate, keys)),
    async issue({ hosts }) {
      const own = await makeKeys();
      const issued = await X509CertificateGenerator.create({
        subject: `CN=${name}`,
        issuer: certificate.subject,
        ...validity,
        publicKey: own.publicKey,
        signingKey: keys.privateKey,
        signingAlgorithm: P256,
        extensions: [
          new BasicConstraintsExtension(false, undefined, true),
          new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth]),
          await AuthorityKeyIdentifierExtension.create(keys.publicKey),
          alternativeNames(hosts),
        ],
      });
      return await inPem(issued, own);
    },
  };
}

/** A self-signed certificate: peers trust it directly, as their CA. @param hosts DNS names and IP addresses, at least one */
export async function createSelfSigned(type: 'server' | 'client', hosts: readonly string[], now: Date): Promise<Certificate> {
  const keys = await makeKeys();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: `CN=${hosts[0] ?? type}`,
    ...validityFrom(now),
    keys,
    signingAlgorithm: P256,
    extensions: [
      new BasicConstraintsExtension(true, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature | KeyUsageFlags.keyCertSign, true),
      new ExtendedKeyUsageExtension([type === 'server' ? ExtendedKeyUsage.serverAuth : ExtendedKeyUsage.clientAuth]),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
      await AuthorityKeyIdentifierExtension.create(keys.publicKey),
      alternativeNames(hosts),
    ],
  });
  return await inPem(certificate, keys);
}

/** A key pair for P-256. */
export async function makeKeys(): Promise<webcrypto.CryptoKeyPair> {
  return await webcrypto.subtle.generateKey(P256, true, ['sign', 'verify']);
}

/** The validity begins a day ago, for clocks that run behind. */
function validityFrom(now: Date): { notBefore: Date; notAfter: Date } {
  return { notBefore: new Date(now.getTime() - DAY_MS), notAfter: new Date(now.getTime() + 3650 * DAY_MS) };
}

function alternativeNames(hosts: readonly string[]): SubjectAlternativeNameExtension {
  return new SubjectAlternativeNameExtension(hosts.map((value) => ({ type: isIP(value) === 0 ? 'dns' : 'ip', value })));
}

export async function inPem(certificate: X509Certificate, { privateKey }: webcrypto.CryptoKeyPair): Promise<Certificate> {
  const key = await webcrypto.subtle.exportKey('pkcs8', privateKey);
  return { certPem: `${certificate.toString('pem')}\n`, keyPem: `${PemConverter.encode(key, 'PRIVATE KEY')}\n` };
}
