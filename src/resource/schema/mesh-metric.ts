// MeshMetric: which metrics proxies offer, and to whom.
import { z } from 'zod';
import { collectorShape, oneCollector } from './open-telemetry-ref.ts';
import { proxyRef } from './policy-frame.ts';
import { isRe2, RE2_FORM } from './re2.ts';
import { choice, duration, flag, must, port } from './spec-fields.ts';
import { needsObjectOfType, withRules } from './spec-rules.ts';
import { child } from './spec-path.ts';

const anyText = () => z.string(must('text'));

const selector = withRules(
  z.object({
    type: choice('Prefix', 'Regex', 'Exact', 'Contains').describe('How match is compared.'),
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
        .array(z.object({ name: choice('All', 'Basic', 'None').describe('Name of the profile.') }))
        .describe('Sets of metrics.')
        .optional(),
      include: z.array(selector).describe('Metrics beside those of the profiles.').optional(),
      exclude: z.array(selector).describe('Metrics left out of the profiles.').optional(),
    })
    .describe('Which metrics of the proxy are offered.')
    .optional(),
});

const application = z.object({
  name: anyText().describe('Name of the application.').optional(),
  address: anyText().describe('Address of the application. That of the inbound if not set.').optional(),
  port: port('uint32').describe('Port of the metrics.'),
  path: anyText().describe('Path of the metrics.').default('/metrics'),
});

const prometheus = z.object({
  clientId: anyText().describe('The Prometheus server that may scrape. Any if not set.').optional(),
  path: anyText().describe('Path of the metrics.').default('/metrics'),
  port: port('uint32').describe('Port of the metrics.').default(5670),
  tls: z
    .object({
      mode: choice('Disabled', 'ProvidedTLS', 'ActiveMTLSBackend').describe('Who gives the certificate.').default('Disabled'),
    })
    .describe('TLS of the port.')
    .optional(),
});

const openTelemetry = withRules(
  z.object({ ...collectorShape(), refreshInterval: duration().describe('How often metrics are sent.').optional() }),
  oneCollector,
);

const backend = withRules(
  z.object({
    type: choice('Prometheus', 'OpenTelemetry').describe('Kind of the backend.'),
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
