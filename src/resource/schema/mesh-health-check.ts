// MeshHealthCheck (policies 2.6): how proxies find out whether an endpoint answers.
import { z } from 'zod';
import type { JsonObject } from '../types.ts';
import type { Findings } from './findings.ts';
import { headerAdditions } from './header-match.ts';
import { checkFrame, proxyRef, toItems, type PolicyDocument } from './policy-frame.ts';
import { absolutePath, count, disabled, flag, integer, must, pattern, percentage, positiveDuration } from './spec-fields.ts';
import { atLeastOne, withRules } from './spec-rules.ts';
import { child } from './spec-path.ts';
import { SERVICE_TYPES } from '../type-registry.ts';

const BASE64 = /^(?=[A-Za-z0-9+/]{2})(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/;
const anyText = () => z.string(must('text'));
const base64 = () => pattern(BASE64, 'base64 of at least one byte');
/** What a header can hold. */
const printable = (least = 0) => pattern(least === 0 ? /^[^\p{Cc}]*$/u : /^[^\p{Cc}]+$/u, 'text of one line');

const conf = withRules(
  z.object({
    interval: positiveDuration().describe('1m if not set.').optional(),
    timeout: positiveDuration().describe('15s if not set.').optional(),
    unhealthyThreshold: count(1, 'int32').describe('5 if not set.').optional(),
    healthyThreshold: count(1, 'int32').describe('1 if not set.').optional(),
    initialJitter: positiveDuration().optional(),
    intervalJitter: positiveDuration().optional(),
    intervalJitterPercent: integer(0, 100).optional(),
    noTrafficInterval: positiveDuration().optional(),
    healthyPanicThreshold: percentage().optional(),
    failTrafficOnPanic: flag().optional(),
    eventLogPath: absolutePath().describe('File to which health events are written.').optional(),
    alwaysLogHealthCheckFailures: flag().optional(),
    reuseConnection: flag().optional(),
    http: z
      .object({
        disabled: disabled(),
        path: printable(1).describe('/ if not set.').optional(),
        requestHeadersToAdd: headerAdditions.optional(),
        expectedStatuses: z.array(integer(100, 599)).optional(),
      })
      .optional(),
    tcp: z.object({ disabled: disabled(), send: base64().optional(), receive: z.array(base64()).optional() }).optional(),
    grpc: z.object({ disabled: disabled(), serviceName: anyText().optional(), authority: printable().optional() }).optional(),
  }),
  atLeastOne('http', 'tcp', 'grpc'),
  (value, path, findings) => {
    if (value['healthyPanicThreshold'] !== undefined)
      findings.warning(
        child(path, 'healthyPanicThreshold'),
        'is deprecated: use outlierDetection.healthyPanicThreshold of MeshCircuitBreaker',
      );
  },
);

export const meshHealthCheckSpec = z.object({ targetRef: proxyRef(), to: toItems(['Mesh', ...SERVICE_TYPES], conf) });

export function checkMeshHealthCheck(spec: JsonObject, document: PolicyDocument, findings: Findings): void {
  checkFrame({}, spec, document, findings);
}
