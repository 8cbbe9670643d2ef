// MeshAccessLog (policies 2.4): where each request is written down, and how.
import { z } from 'zod';
import type { Json, JsonObject } from '../types.ts';
import { FORMAT_FORM, isLogFormat } from './envoy-format.ts';
import type { Findings } from './findings.ts';
import { inboundMatch } from './inbound-match.ts';
import { collectorShape, oneCollector } from './open-telemetry-ref.ts';
import { checkFrame, ROUTE_ADVICE, fromItems, proxyOrRouteRef, ruleItems, toItems, type PolicyDocument } from './policy-frame.ts';
import { absolutePath, choice, flag, hostAndPort, must, text } from './spec-fields.ts';
import { needsObjectOfType, withRules } from './spec-rules.ts';
import { child } from './spec-path.ts';
import { ROUTE_KINDS } from './target-ref.ts';
import { SERVICE_TYPES } from '../type-registry.ts';

const ATTRIBUTE_KEY = /^[a-z](?:[a-z0-9]|[._][a-z0-9])*$/;
const attributeSentence = must(
  'lower-case letters and digits, single dots and underscores between them, not beginning with otel.',
);

/** Text in which a % begins a command of Envoy's, or a placeholder of the control plane. */
function logText(least = 1) {
  const what = must(`text in which ${FORMAT_FORM}`);
  return z.string(must('text')).min(least, must('text that is not empty')).refine(isLogFormat, what);
}

const format = withRules(
  z.object({
    type: choice('Plain', 'Json'),
    plain: logText().optional(),
    json: z
      .array(z.object({ key: text(), value: logText() }))
      .min(1)
      .optional(),
    omitEmptyValues: flag().default(false),
  }),
  needsObjectOfType({ Plain: 'plain', Json: 'json' }),
);

const openTelemetry = withRules(
  z.object({
    ...collectorShape(),
    attributes: z
      .array(
        z.object({
          key: z
            .string(attributeSentence)
            .refine((key) => key.length <= 255 && ATTRIBUTE_KEY.test(key) && !key.startsWith('otel.'), attributeSentence),
          value: logText(0),
        }),
      )
      .optional(),
    body: z.unknown().describe('Any JSON.').optional(),
  }),
  oneCollector,
  bodyFormats,
);

const backend = withRules(
  z.object({
    type: choice('Tcp', 'File', 'OpenTelemetry'),
    tcp: z.object({ address: hostAndPort(), format: format.optional() }).optional(),
    file: z.object({ path: absolutePath(), format: format.optional() }).optional(),
    openTelemetry: openTelemetry.optional(),
  }),
  needsObjectOfType({ Tcp: 'tcp', File: 'file', OpenTelemetry: 'openTelemetry' }),
);

const conf = z.object({ backends: z.array(backend).describe('An empty list switches logging off.') });

export const meshAccessLogSpec = z.object({
  targetRef: proxyOrRouteRef(),
  to: toItems(['Mesh', ...SERVICE_TYPES, ...ROUTE_KINDS], conf),
  from: fromItems(['Mesh'], conf),
  rules: ruleItems(inboundMatch, conf),
});

/** Every text of a body is a format. */
function bodyFormats({ body }: JsonObject, path: string, findings: Findings): void {
  if (body !== undefined && !textsIn(body).every(isLogFormat))
    findings.violation(child(path, 'body'), `must have texts in which ${FORMAT_FORM}`);
}

function textsIn(value: Json): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

export function checkMeshAccessLog(spec: JsonObject, document: PolicyDocument, findings: Findings): void {
  checkFrame(
    { oneOf: ['to', 'rules', 'from'], besideRules: ['to', 'from'], routeAdvice: ROUTE_ADVICE },
    spec,
    document,
    findings,
  );
}
