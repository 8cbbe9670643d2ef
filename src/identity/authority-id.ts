// Names a certificate authority, and the set of those that a mesh trusts, in statuses and insights.
import { hash, X509Certificate } from 'node:crypto';
import type { TrustBundle } from './trust-bundles.ts';

const CHARACTERS = 22;

/** The first bytes of the SHA-256 of the certificate, in hex as `openssl x509 -fingerprint` has them, without colons. */
export function authorityId(certPem: string): string {
  return new X509Certificate(certPem).fingerprint256.replaceAll(':', '').slice(0, CHARACTERS).toLowerCase();
}

/** The id of a set of bundles, equal for equal bundles in every process. */
export function bundleId(bundles: readonly TrustBundle[]): string {
  return hash('sha256', JSON.stringify(bundles.map(({ trustDomain, pem }) => [trustDomain, pem])), 'base64url').slice(
    0,
    CHARACTERS,
  );
}
