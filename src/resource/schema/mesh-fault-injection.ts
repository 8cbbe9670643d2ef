// MeshFaultInjection (policies 2.6): failures made on purpose.
import { z } from 'zod';
import type { JsonObject } from '../types.ts';
import type { Findings } from './findings.ts';
import { checkGatewaySections } from './gateway-sections.ts';
import { inboundMatch } from './inbound-match.ts';
import { checkFrame, fromItems, proxyRef, ruleItems, toItems, type PolicyDocument } from './policy-frame.ts';
import { integer, pattern, percentage, positiveDuration } from './spec-fields.ts';

const fault = z.object({
  abort: z.object({ httpStatus: integer(200, 599), percentage: percentage() }).optional(),
  delay: z.object({ value: positiveDuration(), percentage: percentage() }).optional(),
  responseBandwidth: z
    .object({
      limit: pattern(/^0{0,5}[1-9]\d{0,8} ?(kbps|Mbps|Gbps)$/, 'a number over 0 with kbps, Mbps or Gbps, such as "50Mbps"'),
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

export function checkMeshFaultInjection(spec: JsonObject, document: PolicyDocument, findings: Findings): void {
  checkFrame({ besideRules: ['from'], gateway: 'system' }, spec, document, findings);
  checkGatewaySections(spec, ['from'], findings);
}
