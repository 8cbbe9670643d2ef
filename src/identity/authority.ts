// The certificate authority of a MeshIdentity and the certificates that it signs (xds 6). Pure but for the keys, which are random.
// Load it with a dynamic import: the library for certificates is large.
import 'reflect-metadata';
import { createPrivateKey, webcrypto, type KeyObject } from 'node:crypto';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { MeridianError, messageOf } from '../base/errors.ts';
import { inPem, makeKeys, P256 } from '../base/self-signed.ts';
import { authorityId } from './authority-id.ts';
import { pairProblem } from './authority-pair.ts';
import { faultAt } from './authority-validity.ts';
import { CLOCK_SKEW_MS, type AuthorityPem, type Leaf } from './leaf.ts';

/** An authority that can sign. */
export type Authority = { readonly id: string; readonly certificate: X509Certificate; readonly key: webcrypto.CryptoKey };

const RSA = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' } as const;
const DAY_MS = 86_400_000;
const AUTHORITY_DAYS = 3_650;

/** Makes a self-signed authority with a P-256 key. Its certificate ends in ten years. */
export async function createAuthority(trustDomain: string, now: Date): Promise<AuthorityPem> {
  const keys = await makeKeys();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: [{ O: ['Meridian'] }, { OU: ['Mesh'] }, { CN: [trustDomain] }],
    notBefore: new Date(now.getTime() - CLOCK_SKEW_MS),
    notAfter: new Date(now.getTime() + AUTHORITY_DAYS * DAY_MS),
    keys,
    signingAlgorithm: P256,
    extensions: [
      new BasicConstraintsExtension(true, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
      uriName(`spiffe://${trustDomain}`, false),
    ],
  });
  return await inPem(certificate, keys);
}

/**
 * Reads an authority: one that was made here, or one with an RSA key that a Kuma zone made.
 * @throws MeridianError `invalid` for texts that are no certificate and its key
 */
export async function readAuthority({ certPem, keyPem }: AuthorityPem): Promise<Authority> {
  try {
    const problem = pairProblem({ certPem, keyPem });
    if (problem !== null) throw new Error(problem);
    return {
      id: authorityId(certPem),
      certificate: new X509Certificate(certPem),
      key: await signingKey(createPrivateKey(keyPem)),
    };
  } catch (cause) {
    throw new MeridianError('invalid', `the certificate authority cannot be used: ${messageOf(cause)}`, { cause });
  }
}

/**
 * Issues a certificate for a SPIFFE ID, with a P-256 key that is made for it.
 * @param lifetimeMs a certificate ends no later than its authority
 * @throws MeridianError `invalid` while the authority is not valid
 */
export async function issueLeaf(
  { id: authority, certificate: issuer, key }: Authority,
  spiffeId: string,
  { now, lifetimeMs }: { readonly now: Date; readonly lifetimeMs: number },
): Promise<Leaf> {
  const fault = faultAt(issuer, now);
  if (fault !== null) throw new MeridianError('invalid', fault.message);
  const keys = await makeKeys();
  const notAfter = new Date(Math.min(now.getTime() + lifetimeMs, issuer.notAfter.getTime()));
  // Two authorities of one trust domain have the same name: the key identifier tells them apart.
  const issuerKey = issuer.getExtension(SubjectKeyIdentifierExtension)?.keyId;
  const certificate = await X509CertificateGenerator.create({
    issuer: issuer.subjectName,
    notBefore: new Date(now.getTime() - CLOCK_SKEW_MS),
    notAfter,
    publicKey: keys.publicKey,
    signingKey: key,
    signingAlgorithm: { name: key.algorithm.name, hash: P256.hash },
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature | KeyUsageFlags.keyEncipherment | KeyUsageFlags.keyAgreement, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth], true),
      ...(issuerKey === undefined ? [] : [new AuthorityKeyIdentifierExtension(issuerKey)]),
      uriName(spiffeId, true),
    ],
  });
  return { ...(await inPem(certificate, keys)), spiffeId, authority, issuedAt: now, notAfter };
}

function uriName(value: string, isCritical: boolean): SubjectAlternativeNameExtension {
  return new SubjectAlternativeNameExtension([{ type: 'url', value }], isCritical);
}

async function signingKey(key: KeyObject): Promise<webcrypto.CryptoKey> {
  const algorithm = key.asymmetricKeyType === 'rsa' ? RSA : P256;
  const der = key.export({ format: 'der', type: 'pkcs8' });
  return await webcrypto.subtle.importKey('pkcs8', der, algorithm, false, ['sign']);
}
