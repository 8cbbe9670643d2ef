// MeshFaultInjection (policies 2.6): failures made on purpose.
import { z } from 'zod';
import type { JsonObject } from '../types.ts';
import type { Findings } from './findings.ts';
import { checkGatewaySections } from './gateway-sections.ts';
import { inboundMatch } from './inbound-match.ts';
import { checkFrame, fromItems, proxyRef, ruleItems, toItems, type PolicyDocument } from './policy-frame.ts';
import { duration, integer, pattern, percentage } from './spec-fields.ts';

const fault = z.object({
  abort: z.object({ httpStatus: integer(100, 599), percentage: percentage() }).optional(),
  delay: z.object({ value: duration(), percentage: percentage() }).optional(),
  responseBandwidth: z
    .object({
      limit: pattern(/^\d{1,15} ?(kbps|Mbps|Gbps)$/, 'a number with kbps, Mbps or Gbps, such as "50Mbps"'),
      percentage: percentage(),
    })
    .optional(),
});

const conf = z.object({ http: z.array(fault).optional() });

export const meshFaultInjectionSpec = z.object({
  targetRef: proxyRef(),
  to: toItems(['Mesh'], conf),
  from: fromItems(['Mesh', 'MeshSubset', 'MeshService', 'MeshServiceSubset'], conf),
  rules: ruleItems(inboundMatch, conf),
});

export type MeshFaultInjectionSpec = z.infer<typeof meshFaultInjectionSpec>;

export function checkMeshFaultInjection(spec: JsonObject, document: PolicyDocument, findings: Findings): void {
  checkFrame({ besideRules: ['from'], gateway: 'system' }, spec, document, findings);
  checkGatewaySections(spec, ['from'], findings);
}
