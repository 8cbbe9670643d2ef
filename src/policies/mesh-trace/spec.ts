// MeshTrace: where proxies send their spans, how many, and with which tags.
import { z } from 'zod';
import { collectorShape, oneCollector } from '../../schema/open-telemetry-ref.ts';
import { proxyRef } from '../../schema/policy-frame.ts';
import { choice, flag, must, oneLine, percentage, text } from '../../schema/spec-fields.ts';
import { needsObjectOfType, withRules } from '../../schema/spec-rules.ts';

const MAX_BACKENDS = 1;
const anyText = () => z.string(must('text'));

const zipkinUrl = () => {
  const what = must('a URL such as "http://zipkin:9411/api/v2/spans"');
  return z.string(what).refine((value) => value !== '' && URL.canParse(value), what);
};

const datadogUrl = () => {
  const what = must('a URL of scheme, host and port alone, such as "http://datadog:8126"');
  return z
    .string(what)
    .regex(/^http:\/\/[^\s/?#@]+:\d{1,5}$/, what)
    .refine(hasValidPort, what);
};

const zipkin = z.object({
  url: zipkinUrl().describe('Where spans are sent.'),
  apiVersion: choice('httpJson', 'httpProto').describe('Form of the spans.').default('httpJson'),
  sharedSpanContext: flag().describe('Whether client and server share a span.').default(true),
  traceId128bit: flag().describe('Whether trace IDs have 128 bits.').default(false),
});

const datadog = z.object({
  url: datadogUrl().describe('Where spans are sent.'),
  splitService: flag().describe('Whether inbound and outbound are services of their own.').default(false),
});

const backend = withRules(
  z.object({
    type: choice('Zipkin', 'Datadog', 'OpenTelemetry').describe('What takes the spans.'),
    zipkin: zipkin.describe('A Zipkin collector.').optional(),
    datadog: datadog.describe('A Datadog agent.').optional(),
    openTelemetry: withRules(z.object(collectorShape()), oneCollector).describe('An OpenTelemetry collector.').optional(),
  }),
  needsObjectOfType({ Zipkin: 'zipkin', Datadog: 'datadog', OpenTelemetry: 'openTelemetry' }),
);

const tag = withRules(
  z.object({
    name: text().describe('Key of the tag in the span.'),
    literal: anyText().describe('The value itself.').optional(),
    header: z
      .object({
        name: oneLine().describe('Header of the request, in any case.'),
        default: anyText().describe('Value where the header is absent.').optional(),
      })
      .describe('The value of a request header.')
      .optional(),
  }),
  (value, path, findings) => {
    if ((value['literal'] === undefined) === (value['header'] === undefined))
      findings.violation(path, 'must have exactly one of literal, header');
  },
);

const conf = z.object({
  backends: z.array(backend).max(MAX_BACKENDS).describe('Where spans are sent. An empty list switches tracing off.'),
  sampling: z
    .object({
      client: percentage().describe('Share of the requests whose client asks for a trace. 100 if not set.').optional(),
      random: percentage().describe('Share of all requests. 100 if not set.').optional(),
      overall: percentage().describe('Upper bound of both. 100 if not set.').optional(),
    })
    .describe('Which requests are traced, in percent.')
    .optional(),
  tags: z.array(tag).describe('Tags of each span.').optional(),
});

export const meshTraceSpec = z.object({ targetRef: proxyRef(), default: conf.describe('Conf of the selected proxies.') });

function hasValidPort(value: string): boolean {
  const port = Number(value.slice(value.lastIndexOf(':') + 1));
  return URL.canParse(value) && port >= 1 && port <= 65_535;
}
