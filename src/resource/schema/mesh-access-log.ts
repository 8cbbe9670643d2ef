// MeshAccessLog (policies 2.4): where each request is written down, and how.
import { z } from 'zod';
import type { JsonObject } from '../types.ts';
import type { Findings } from './findings.ts';
import { inboundMatch } from './inbound-match.ts';
import { collectorShape, oneCollector } from './open-telemetry-ref.ts';
import { checkFrame, ROUTE_ADVICE, fromItems, proxyOrRouteRef, ruleItems, toItems, type PolicyDocument } from './policy-frame.ts';
import { absolutePath, choice, flag, hostAndPort, must, text } from './spec-fields.ts';
import { needsObjectOfType, withRules } from './spec-rules.ts';
import { ROUTE_KINDS } from './target-ref.ts';
import { SERVICE_TYPES } from '../type-registry.ts';

const ATTRIBUTE_KEY = /^[a-z](?:[a-z0-9]|[._][a-z0-9])*$/;
const attributeSentence = must(
  'lower-case letters and digits, single dots and underscores between them, not beginning with otel.',
);

const format = withRules(
  z.object({
    type: choice('Plain', 'Json'),
    plain: text().optional(),
    json: z
      .array(z.object({ key: text(), value: text() }))
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
          value: z.string(must('text')),
        }),
      )
      .optional(),
    body: z.unknown().describe('Any JSON.').optional(),
  }),
  oneCollector,
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

export type MeshAccessLogSpec = z.infer<typeof meshAccessLogSpec>;

export function checkMeshAccessLog(spec: JsonObject, document: PolicyDocument, findings: Findings): void {
  checkFrame(
    { oneOf: ['to', 'rules', 'from'], besideRules: ['to', 'from'], routeAdvice: ROUTE_ADVICE },
    spec,
    document,
    findings,
  );
}
