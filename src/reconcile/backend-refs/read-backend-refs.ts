// The references of an observability policy to MeshOpenTelemetryBackends (policies 2.4: MeshAccessLog; also MeshTrace, MeshMetric).
import { objectOf, objectsOf, textMapOf, textOf } from '../../resource/read-json.ts';
import { label } from '../../resource/labels.ts';
import type { JsonObject, Labels } from '../../resource/types.ts';

export type BackendRef = {
  /** Labels that the backend must carry. */
  readonly labels: Labels;
  /** The reference as a message shows it: `labels:a=b,c=d` or `name:otel`. */
  readonly text: string;
};

/** The references in the order in which they stand in the spec. */
export function readBackendRefs(spec: JsonObject): BackendRef[] {
  const confs = [
    spec['default'],
    ...['to', 'from', 'rules'].flatMap((key) => objectsOf(spec[key]).map((item) => item['default'])),
  ];
  return confs
    .flatMap((conf) => objectsOf(objectOf(conf)['backends']))
    .map((backend) => objectOf(objectOf(backend['openTelemetry'])['backendRef']))
    .filter(({ kind }) => kind === 'MeshOpenTelemetryBackend')
    .flatMap(refOf);
}

function refOf(ref: JsonObject): BackendRef[] {
  const name = textOf(ref['name']);
  if (name !== '') return [{ labels: { [label.displayName]: name }, text: `name:${name}` }];
  const labels = textMapOf(ref['labels']);
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return pairs.length === 0 ? [] : [{ labels, text: `labels:${pairs.sort().join(',')}` }];
}
