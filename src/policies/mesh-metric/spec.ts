// MeshMetric: which metrics proxies offer, and to whom.
import { z } from 'zod';
import { collectorShape, oneCollector } from '../../schema/open-telemetry-ref.ts';
import { proxyRef } from '../../schema/policy-frame.ts';
import { isRe2, RE2_FORM } from '../../schema/expressions/re2.ts';
import { choice, duration, flag, must, port } from '../../schema/spec-fields.ts';
import { needsObjectOfType, withRules } from '../../schema/spec-rules.ts';
import { child } from '../../resource/spec-path.ts';

const anyText = () => z.string(must('text'));

const selector = withRules(
  z.object({
    type: choice('Prefix', 'Regex', 'Exact', 'Contains').describe('How match is compared with the name of a metric.'),
    match: anyText().describe('Name of a metric, or part of it.'),
  }),
  (value, path, findings) => {
    const { type, match } = value;
    if (type === 'Regex' && typeof match === 'string' && !isRe2(match))
      findings.violation(child(path, 'match'), `must be ${RE2_FORM}`);
  },
);

const sidecar = z.object({
  includeUnused: flag().describe('Whether metrics without a value are offered.').optional(),
  profiles: z
    .object({
      appendProfiles: z
        .array(z.object({ name: choice('All', 'Basic', 'None').describe('All metrics, the Basic ones of dashboards, or None.') }))
        .describe('Sets of metrics that are offered together.')
        .optional(),
      include: z.array(selector).describe('Metrics beside those of the profiles.').optional(),
      exclude: z.array(selector).describe('Metrics left out of the profiles.').optional(),
    })
    .describe('Which metrics of the proxy are offered.')
    .optional(),
});

const application = z.object({
  name: anyText().describe('Name that its metrics get as a label.').optional(),
  address: anyText().describe('IP address on which the application listens. That of the inbound if not set.').optional(),
  port: port('uint32').describe('Port on which the application offers metrics.'),
  path: anyText().describe('Path of the URL at which they are scraped.').default('/metrics'),
});

const prometheus = z.object({
  clientId: anyText().describe('The Prometheus server that may scrape. Any if not set.').optional(),
  path: anyText().describe('Path of the URL at which they are scraped.').default('/metrics'),
  port: port('uint32').describe('Port on which the proxy offers metrics.').default(5670),
  tls: z
    .object({
      mode: choice('Disabled', 'ProvidedTLS', 'ActiveMTLSBackend')
        .describe('Whether the port speaks TLS, and with which certificate. ProvidedTLS takes that of the launcher.')
        .default('Disabled'),
    })
    .describe('TLS of the port from which Prometheus scrapes.')
    .optional(),
});

const openTelemetry = withRules(
  z.object({
    ...collectorShape(),
    refreshInterval: duration().describe('Time between two sendings. The launcher has its own if not set.').optional(),
  }),
  oneCollector,
);

const backend = withRules(
  z.object({
    type: choice('Prometheus', 'OpenTelemetry').describe('Whether Prometheus scrapes the proxy or the proxy sends.'),
    prometheus: prometheus.describe('Prometheus asks the proxy.').optional(),
    openTelemetry: openTelemetry.describe('The proxy sends to an OpenTelemetry collector.').optional(),
  }),
  needsObjectOfType({ Prometheus: 'prometheus', OpenTelemetry: 'openTelemetry' }),
);

const conf = z.object({
  sidecar: sidecar.describe('Metrics of the proxy itself.').optional(),
  applications: z.array(application).describe('Applications whose metrics the proxy offers too.').optional(),
  backends: z.array(backend).describe('Who gets the metrics.').optional(),
});

export const meshMetricSpec = z.object({
  targetRef: proxyRef(),
  default: conf.describe('Conf of the selected proxies.').optional(),
});
