// MeshServerHeader: the `server` header in the responses of an inbound.
import { z } from 'zod';
import type { Findings } from '../../../../src/schema/findings.ts';
import { narrowingMatch } from '../../../../src/schema/inbound-match.ts';
import { checkFrame, proxyRef, ruleItems, type PolicyDocument } from '../../../../src/schema/policy-frame.ts';
import type { JsonObject } from '../../../../src/resource/types.ts';

const conf = z
  .object({
    mode: z.enum(['Overwrite', 'PassThrough']).describe('Whose header the client gets: that of Envoy, or of the application.'),
  })
  .describe('The server header of responses.');

export const meshServerHeaderSpec = z.object({ targetRef: proxyRef(), rules: ruleItems(narrowingMatch, conf) });

export type ServerHeader = Partial<z.infer<typeof conf>>;

export function checkMeshServerHeader(spec: JsonObject, document: PolicyDocument, findings: Findings): void {
  checkFrame({ oneOf: ['rules'] }, spec, document, findings);
}
