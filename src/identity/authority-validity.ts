// The time in which a certificate authority is valid (RFC 5280 section 6.1.3). A certificate that an authority signs at another time is refused
// by every peer.
import { X509Certificate } from 'node:crypto';

/** The reason why an authority cannot sign. `reason` is the one of the condition of its MeshIdentity. */
export type AuthorityFault = { readonly reason: 'AuthorityExpired' | 'AuthorityNotYetValid'; readonly message: string };

/** The dates of a certificate. */
type Validity = { readonly notBefore: Date; readonly notAfter: Date };

/** @throws Error for a text that is no certificate */
export function validityOf(certPem: string): Validity {
  const { validFromDate, validToDate } = new X509Certificate(certPem);
  return { notBefore: validFromDate, notAfter: validToDate };
}

/** Returns null if the authority can sign at this time (xds 6). */
export function faultAt({ notBefore, notAfter }: Validity, now: Date): AuthorityFault | null {
  if (now >= notAfter)
    return { reason: 'AuthorityExpired', message: `the certificate authority has ended at ${notAfter.toISOString()}` };
  if (now < notBefore)
    return { reason: 'AuthorityNotYetValid', message: `the certificate authority is valid from ${notBefore.toISOString()} on` };
  return null;
}

/** The time at which the answer of `faultAt` changes next; null if it stays. */
export function nextChange({ notBefore, notAfter }: Validity, now: Date): Date | null {
  return [notBefore, notAfter].find((date) => date > now) ?? null;
}
