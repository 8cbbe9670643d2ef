// MeshAccessLog (policies 2.4): where each request is written down, and how.
import { z } from 'zod';
import type { JsonObject } from '../types.ts';
import type { Findings } from './findings.ts';
import { inboundMatch } from './inbound-match.ts';
import { isSet } from './json-access.ts';
import { checkFrame, ROUTE_ADVICE, fromItems, proxyOrRouteRef, ruleItems, toItems, type PolicyDocument } from './policy-frame.ts';
import { choice, flag, must, text, textMap } from './spec-fields.ts';
import { needsObjectOfType, withRules } from './spec-rules.ts';
import { child } from './spec-path.ts';
import { ROUTE_KINDS, SERVICE_KINDS } from './target-ref.ts';

const ATTRIBUTE_KEY = /^[a-z](?:[a-z0-9]|[._][a-z0-9])*$/;
const attributeSentence = must(
  'lower-case letters and digits, single dots and underscores between them, not beginning with otel.',
);

const format = withRules(
  z.object({
    type: choice('Plain', 'Json'),
    plain: text().optional(),
    json: z
      .array(z.object({ key: text(), value: z.string(must('text')) }))
      .min(1)
      .optional(),
    omitEmptyValues: flag().default(false),
  }),
  needsObjectOfType({ Plain: 'plain', Json: 'json' }),
);

const openTelemetryRef = withRules(
  z.object({
    kind: choice('MeshOpenTelemetryBackend'),
    labels: textMap().optional(),
    name: text().optional(),
  }),
  (ref, path, findings) => {
    const hasName = ref['name'] !== undefined;
    if (isSet(ref['labels']) === hasName)
      findings.violation(child(path, 'labels'), hasName ? 'must not be set beside name' : 'must have at least one label');
  },
);

const openTelemetry = withRules(
  z.object({
    backendRef: openTelemetryRef.optional(),
    endpoint: text('the address of a collector').optional(),
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
  (value, path, findings) => {
    const hasEndpoint = value['endpoint'] !== undefined;
    if (hasEndpoint) findings.warning(child(path, 'endpoint'), 'is deprecated: use backendRef');
    if (hasEndpoint && value['backendRef'] !== undefined)
      findings.violation(child(path, 'endpoint'), 'must not be set beside backendRef');
    if (!hasEndpoint && value['backendRef'] === undefined) findings.violation(child(path, 'backendRef'), 'must be given');
  },
);

const backend = withRules(
  z.object({
    type: choice('Tcp', 'File', 'OpenTelemetry'),
    tcp: z.object({ address: text('an address such as "127.0.0.1:5000"'), format: format.optional() }).optional(),
    file: z.object({ path: text('the path of a file'), format: format.optional() }).optional(),
    openTelemetry: openTelemetry.optional(),
  }),
  needsObjectOfType({ Tcp: 'tcp', File: 'file', OpenTelemetry: 'openTelemetry' }),
);

const conf = z.object({ backends: z.array(backend).describe('An empty list switches logging off.') });

export const meshAccessLogSpec = z.object({
  targetRef: proxyOrRouteRef(),
  to: toItems(['Mesh', ...SERVICE_KINDS, ...ROUTE_KINDS], conf),
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
