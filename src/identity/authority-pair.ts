// Whether a certificate and a key can sign as an authority. It needs no library for certificates.
import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import type { AuthorityPem } from './leaf.ts';

/**
 * The reason why they cannot sign; null if they can. The time does not count (`faultAt`).
 * @throws Error for a certificate that cannot be read
 */
export function pairProblem({ certPem, keyPem }: AuthorityPem): string | null {
  const certificate = new X509Certificate(certPem);
  const key = keyIn(keyPem);
  if (key === null) return 'its private key cannot be read';
  if (!certificate.checkPrivateKey(key)) return 'its private key is not that of its certificate';
  if (!certificate.ca) return 'its certificate is not one of an authority (CA:TRUE)';
  return canSign(key) ? null : 'its private key must be of RSA, or of ECDSA with P-256';
}

function keyIn(pem: string): KeyObject | null {
  try {
    return createPrivateKey(pem);
  } catch {
    return null;
  }
}

function canSign({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): boolean {
  return asymmetricKeyType === 'rsa' || (asymmetricKeyType === 'ec' && asymmetricKeyDetails?.namedCurve === 'prime256v1');
}
