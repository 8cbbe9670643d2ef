// MeshTrust: the certificate authorities that a mesh trusts for a trust domain.
import { X509Certificate } from 'node:crypto';
import { z } from 'zod';
import { besideCertificatesProblem } from '../base/pem.ts';
import { choice, must } from '../schema/spec-fields.ts';
import { needsObjectOfType, withRules } from '../schema/spec-rules.ts';

const MAX_TRUST_DOMAIN = 253;
const MAX_PEM = 1_048_576;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]*-----END CERTIFICATE-----/;

const pem = must('a certificate in PEM form');

const bundle = withRules(
  z.object({
    type: choice('Pem').describe('Form of the bundle.'),
    pem: z
      .object({
        value: z
          .string(pem)
          .refine(isCertificate, pem)
          .refine(isAlone, must('certificates without a private key'))
          .describe('Certificates in PEM form.'),
      })
      .describe('Certificates as text.')
      .optional(),
  }),
  needsObjectOfType({ Pem: 'pem' }),
);

const trustDomain = must(`a trust domain of 1 to ${MAX_TRUST_DOMAIN} characters`);

export const meshTrustSpec = z.object({
  origin: z
    .object({ kri: z.string(must('text')).describe('KRI of the MeshIdentity.').optional() })
    .describe('What the MeshTrust was made from. The control plane sets it.')
    .optional(),
  trustDomain: z
    .string(trustDomain)
    .min(1, trustDomain)
    .max(MAX_TRUST_DOMAIN, trustDomain)
    .describe('Trust domain of the certificates.'),
  caBundles: z.array(bundle).min(1).describe('The trusted certificate authorities.'),
});

/** The bundle goes to all zones, and everyone who may read resources can read it. */
function isAlone(value: string): boolean {
  return besideCertificatesProblem(value) === null;
}

/** Whether a text holds a certificate that can be read. */
function isCertificate(value: string): boolean {
  if (value.length > MAX_PEM) return false;
  const [found] = CERTIFICATE.exec(value) ?? [];
  if (found === undefined) return false;
  try {
    return new X509Certificate(found).raw.length > 0;
  } catch {
    return false;
  }
}
