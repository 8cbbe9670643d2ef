// The fields in which MeshAccessLog, MeshTrace and MeshMetric name a collector: a reference to a MeshOpenTelemetryBackend, or the
// old address.
import { z } from 'zod';
import { COLLECTOR_ENDPOINT_FORM, parseCollectorEndpoint } from './collector-endpoint.ts';
import { isSet } from '../resource/json-access.ts';
import { choice, must, text, textMap } from './spec-fields.ts';
import { withRules, type Rule } from './spec-rules.ts';
import { child } from '../resource/spec-path.ts';

const reference = withRules(
  z.object({
    kind: choice('MeshOpenTelemetryBackend').describe('Always MeshOpenTelemetryBackend.'),
    labels: textMap().describe('Labels that the MeshOpenTelemetryBackend carries.').optional(),
    name: text().describe('Name of the MeshOpenTelemetryBackend. Set either name or labels.').optional(),
  }),
  (ref, path, findings) => {
    const hasName = ref['name'] !== undefined;
    if (isSet(ref['labels']) === hasName)
      findings.violation(child(path, 'labels'), hasName ? 'must not be set beside name' : 'must have at least one label');
  },
);

const collectorEndpoint = () => {
  const what = must(COLLECTOR_ENDPOINT_FORM);
  return z.string(what).refine((given) => parseCollectorEndpoint(given) !== null, what);
};

/** The two fields that name a collector. */
export const collectorShape = () => ({
  backendRef: reference.describe('The MeshOpenTelemetryBackend that receives the data.').optional(),
  endpoint: collectorEndpoint()
    .describe('Deprecated: use backendRef. Host and port of the collector. The port is 4317 if not given.')
    .optional(),
});

/** A rule: exactly one of `backendRef` and the deprecated `endpoint`. */
export const oneCollector: Rule = (value, path, findings) => {
  const hasEndpoint = value['endpoint'] !== undefined;
  if (hasEndpoint) findings.warning(child(path, 'endpoint'), 'is deprecated: use backendRef');
  if (hasEndpoint && value['backendRef'] !== undefined)
    findings.violation(child(path, 'endpoint'), 'must not be set beside backendRef');
  if (!hasEndpoint && value['backendRef'] === undefined) findings.violation(child(path, 'backendRef'), 'must be given');
};
