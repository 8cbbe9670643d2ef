// MeshFaultInjection (policies 2.6): failures made on purpose.
import { z } from 'zod';
import type { JsonObject } from '../../resource/types.ts';
import type { Findings } from '../../schema/findings.ts';
import { checkGatewaySections } from '../../schema/gateway-sections.ts';
import { inboundMatch } from '../../schema/inbound-match.ts';
import { checkFrame, fromItems, proxyRef, ruleItems, toItems, type PolicyDocument } from '../../schema/policy-frame.ts';
import { integer, pattern, percentage, positiveDuration } from '../../schema/spec-fields.ts';

const share = () => percentage().describe('Share of the requests that have the fault, in percent.');

const fault = z.object({
  abort: z
    .object({ httpStatus: integer(200, 599).describe('Status of the answer.'), percentage: share() })
    .describe('The proxy answers, and the application gets no request.')
    .optional(),
  delay: z
    .object({ value: positiveDuration().describe('How long the request waits.'), percentage: share() })
    .describe('The request waits before the application gets it.')
    .optional(),
  responseBandwidth: z
    .object({
      limit: pattern(
        /^0{0,5}[1-9]\d{0,8} ?(kbps|Mbps|Gbps)$/,
        'a number over 0 with kbps, Mbps or Gbps, such as "50Mbps"',
      ).describe('Speed of the answer in kbps, Mbps or Gbps, such as 50Mbps.'),
      percentage: share(),
    })
    .describe('The answer is sent slowly.')
    .optional(),
});

const conf = z
  .object({ http: z.array(fault).describe('Faults of HTTP requests. Each takes effect by itself.').optional() })
  .describe('Failures that are made on purpose.');

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
