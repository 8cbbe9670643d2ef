// MeshOpenTelemetryBackend: a collector that MeshAccessLog, MeshTrace and MeshMetric refer to.
import { z } from 'zod';
import { at } from '../resource/json-access.ts';
import { address, choice, flag, pattern, port } from '../schema/spec-fields.ts';
import { withRules } from '../schema/spec-rules.ts';
import { child } from '../resource/spec-path.ts';

export const meshOpenTelemetryBackendSpec = withRules(
  z.object({
    endpoint: z
      .object({
        address: address().describe('IP address or DNS name of the collector.').optional(),
        port: port().describe('Port of the collector. 4317 if not set, with protocol http 4318.').optional(),
        path: pattern(/^\//, 'an absolute path').describe('Prefix of the paths of the signals. For protocol http.').optional(),
      })
      .describe('Where the collector answers. Without an address it is the node of the proxy.')
      .optional(),
    protocol: choice('grpc', 'http').describe('Form of OTLP that the collector takes. grpc if not set.').optional(),
    env: z
      .object({
        mode: choice('Disabled', 'Optional', 'Required').describe('Whether the variables are read.').default('Optional'),
        precedence: choice('ExplicitFirst', 'EnvFirst').describe('What wins where both say something.').default('EnvFirst'),
        allowSignalOverrides: flag().describe('Whether the variables of one signal override the common ones.').optional(),
      })
      .describe('The OTEL_EXPORTER_OTLP_ variables of the proxy.')
      .optional(),
  }),
  (spec, path, findings) => {
    if ((spec['protocol'] ?? 'grpc') === 'grpc' && at(spec, 'endpoint.path') !== undefined)
      findings.violation(child(child(path, 'endpoint'), 'path'), 'must not be set with protocol grpc');
  },
);
