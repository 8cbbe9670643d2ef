// MeshTLS: how strictly proxies ask for TLS, and with which versions and ciphers.
import { z } from 'zod';
import type { JsonObject } from '../../resource/types.ts';
import type { Findings } from '../../schema/findings.ts';
import { at, items } from '../../resource/json-access.ts';
import { checkFrame, fromItems, proxyRef, type PolicyDocument } from '../../schema/policy-frame.ts';
import { choice } from '../../schema/spec-fields.ts';
import { tlsVersion } from '../../schema/tls-version.ts';

const CIPHERS = ['ECDSA', 'RSA'].flatMap((key) =>
  ['AES128-GCM-SHA256', 'AES256-GCM-SHA384', 'CHACHA20-POLY1305'].map((cipher) => `ECDHE-${key}-${cipher}`),
) as [string, ...string[]];

const conf = () =>
  z
    .object({
      mode: choice('Permissive', 'Strict')
        .describe('Strict takes TLS alone, Permissive also plain text. Strict if not set.')
        .optional(),
      tlsVersion: tlsVersion().describe('TLS versions that proxies speak. For the whole mesh only.').optional(),
      tlsCiphers: z
        .array(choice(...CIPHERS))
        .describe('Ciphers up to TLS 1.2. For the whole mesh only.')
        .optional(),
    })
    .describe('TLS of inbounds.');

export const meshTLSSpec = z.object({
  targetRef: proxyRef(),
  from: fromItems(['Mesh'], conf()),
  rules: z
    .array(z.object({ default: conf().optional() }))
    .describe('Conf of inbounds: one rule for all clients.')
    .optional(),
});

export function checkMeshTLS(spec: JsonObject, document: PolicyDocument, findings: Findings): void {
  checkFrame({ besideRules: ['from'] }, spec, document, findings);
  const kind = at(spec, 'targetRef.kind') ?? 'Mesh';
  if (kind === 'Mesh') return;
  for (const section of ['from', 'rules']) {
    for (const [index, item] of items(spec[section]).entries()) {
      for (const field of ['tlsVersion', 'tlsCiphers']) {
        if (at(item, `default.${field}`) !== undefined)
          findings.violation(
            `spec.${section}[${index}].default.${field}`,
            'must not be set unless the top-level targetRef has kind Mesh: both ends of a connection need the same',
          );
      }
    }
  }
}
