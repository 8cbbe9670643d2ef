// MeshAccessLog (policies 2.4): where each request is written down, and how.
import { z } from 'zod';
import type { Json, JsonObject } from '../../resource/types.ts';
import { FORMAT_FORM, isLogFormat } from '../../schema/expressions/envoy-format.ts';
import type { Findings } from '../../schema/findings.ts';
import { inboundMatch } from '../../schema/inbound-match.ts';
import { collectorShape, oneCollector } from '../../schema/open-telemetry-ref.ts';
import {
  checkFrame,
  ROUTE_ADVICE,
  fromItems,
  proxyOrRouteRef,
  ruleItems,
  toItems,
  type PolicyDocument,
} from '../../schema/policy-frame.ts';
import { absolutePath, choice, flag, hostAndPort, must, text } from '../../schema/spec-fields.ts';
import { needsObjectOfType, withRules } from '../../schema/spec-rules.ts';
import { child } from '../../resource/spec-path.ts';
import { ROUTE_KINDS } from '../../schema/target-ref.ts';
import { SERVICE_TYPES } from '../../resource/type-registry.ts';

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
    type: choice('Plain', 'Json').describe('Whether an entry is a line of text or a JSON object.'),
    plain: logText().describe('The line, with commands of Envoy such as %START_TIME%. For type Plain.').optional(),
    json: z
      .array(
        z.object({
          key: text().describe('Key of a member of the JSON object.'),
          value: logText().describe('Its value, with commands of Envoy such as %RESPONSE_CODE%.'),
        }),
      )
      .min(1)
      .describe('Members of the JSON object of an entry. For type Json.')
      .optional(),
    omitEmptyValues: flag().describe('Whether a command without a value gives nothing in place of "-".').default(false),
  }),
  needsObjectOfType({ Plain: 'plain', Json: 'json' }),
).describe('Form of an entry. A line of all common facts if not set.');

const openTelemetry = withRules(
  z.object({
    ...collectorShape(),
    attributes: z
      .array(
        z.object({
          key: z
            .string(attributeSentence)
            .refine((key) => key.length <= 255 && ATTRIBUTE_KEY.test(key) && !key.startsWith('otel.'), attributeSentence)
            .describe('Key of the attribute, at most 255 characters.'),
          value: logText(0).describe('Its value, with commands of Envoy such as %PROTOCOL%.'),
        }),
      )
      .describe('Attributes of each log record, beside those of the resource.')
      .optional(),
    body: z
      .unknown()
      .describe('Body of each log record: any JSON, with commands of Envoy in its texts. A line of all common facts if not set.')
      .optional(),
  }),
  oneCollector,
  bodyFormats,
);

const backend = withRules(
  z.object({
    type: choice('Tcp', 'File', 'OpenTelemetry').describe('What takes the entries.'),
    tcp: z
      .object({
        address: hostAndPort().describe('Host and port of the server, such as logs.example:5000.'),
        format: format.optional(),
      })
      .describe('A server that gets a line for each entry.')
      .optional(),
    file: z
      .object({ path: absolutePath().describe('Path of the file, such as /dev/stdout.'), format: format.optional() })
      .describe('A file on the machine of the proxy.')
      .optional(),
    openTelemetry: openTelemetry.describe('An OpenTelemetry collector, which gets a log record for each entry.').optional(),
  }),
  needsObjectOfType({ Tcp: 'tcp', File: 'file', OpenTelemetry: 'openTelemetry' }),
);

const conf = z
  .object({
    backends: z.array(backend).describe('What gets an entry for each request or connection. An empty list switches logging off.'),
  })
  .describe('Where requests and connections are logged.');

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
