// MeshHealthCheck (policies 2.6): how proxies find out whether an endpoint answers.
import { z } from 'zod';
import type { JsonObject } from '../../resource/types.ts';
import type { Findings } from '../../schema/findings.ts';
import { headerAdditions } from '../../schema/header-match.ts';
import { checkFrame, proxyRef, toItems, type PolicyDocument } from '../../schema/policy-frame.ts';
import {
  absolutePath,
  count,
  disabled,
  flag,
  integer,
  must,
  pattern,
  percentage,
  positiveDuration,
} from '../../schema/spec-fields.ts';
import { atLeastOne, withRules } from '../../schema/spec-rules.ts';
import { child } from '../../resource/spec-path.ts';
import { SERVICE_TYPES } from '../../resource/type-registry.ts';

const BASE64 = /^(?=[A-Za-z0-9+/]{2})(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/;
const anyText = () => z.string(must('text'));
const base64 = () => pattern(BASE64, 'base64 of at least one byte');
/** What a header can hold. */
const printable = (least = 0) => pattern(least === 0 ? /^[^\p{Cc}]*$/u : /^[^\p{Cc}]+$/u, 'text of one line');

const conf = withRules(
  z.object({
    interval: positiveDuration().describe('Between two checks of a healthy endpoint. 1m if not set.').optional(),
    timeout: positiveDuration().describe('How long a check waits for the answer. 15s if not set.').optional(),
    unhealthyThreshold: count(1, 'int32')
      .describe('Failures in a row after which an endpoint is left out. 5 if not set.')
      .optional(),
    healthyThreshold: count(1, 'int32').describe('Successes in a row after which it is used again. 1 if not set.').optional(),
    initialJitter: positiveDuration().describe('Longest random wait before the first check. None if not set.').optional(),
    intervalJitter: positiveDuration().describe('Longest random time that is added to interval. None if not set.').optional(),
    intervalJitterPercent: integer(0, 100).describe('The same as a share of interval, in percent. None if not set.').optional(),
    noTrafficInterval: positiveDuration()
      .describe('Between two checks while no request ever went to the service. 60s if not set.')
      .optional(),
    healthyPanicThreshold: percentage()
      .describe(
        'Deprecated: use outlierDetection of MeshCircuitBreaker. With fewer healthy endpoints, in percent, all get requests.',
      )
      .optional(),
    failTrafficOnPanic: flag()
      .describe('Whether requests fail, in place of going to all endpoints, below healthyPanicThreshold. False if not set.')
      .optional(),
    eventLogPath: absolutePath().describe('File to which health events are written.').optional(),
    alwaysLogHealthCheckFailures: flag()
      .describe('Whether each failed check is logged, and not only the first of a row. False if not set.')
      .optional(),
    reuseConnection: flag().describe('Whether checks share a connection. True if not set.').optional(),
    http: z
      .object({
        disabled: disabled(),
        path: printable(1).describe('Path of the request. / if not set.').optional(),
        requestHeadersToAdd: headerAdditions.describe('Headers that the request has beside those of Envoy.').optional(),
        expectedStatuses: z.array(integer(100, 599)).describe('Statuses that count as healthy. 200 if not set.').optional(),
      })
      .describe('Checks by a GET request. For ports of HTTP.')
      .optional(),
    tcp: z
      .object({
        disabled: disabled(),
        send: base64().describe('Bytes that are sent, in base64. Nothing if not set: the connection is the check.').optional(),
        receive: z.array(base64()).describe('Parts that the answer must have, in this order, each in base64.').optional(),
      })
      .describe('Checks by a connection. For ports without a check of their own protocol.')
      .optional(),
    grpc: z
      .object({
        disabled: disabled(),
        serviceName: anyText().describe('Name of the service in the request. The whole server if not set.').optional(),
        authority: printable().describe('The :authority header of the request. The name of the cluster if not set.').optional(),
      })
      .describe('Checks by the health protocol of gRPC. For ports of gRPC.')
      .optional(),
  }),
  atLeastOne('http', 'tcp', 'grpc'),
  (value, path, findings) => {
    if (value['healthyPanicThreshold'] !== undefined)
      findings.warning(
        child(path, 'healthyPanicThreshold'),
        'is deprecated: use outlierDetection.healthyPanicThreshold of MeshCircuitBreaker',
      );
  },
).describe('How the endpoints are checked.');

export const meshHealthCheckSpec = z.object({ targetRef: proxyRef(), to: toItems(['Mesh', ...SERVICE_TYPES], conf) });

export function checkMeshHealthCheck(spec: JsonObject, document: PolicyDocument, findings: Findings): void {
  checkFrame({}, spec, document, findings);
}
