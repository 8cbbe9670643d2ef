// A stored Gateway API route ⇄ its document (decisions D24). The spec is kept as it was written, in whichever spelling.
import { displayNameOf, label } from '../resource/labels.ts';
import type { JsonObject, Labels } from '../resource/types.ts';
import { GATEWAY_GROUP } from './gateway-route.ts';
import { COMPUTED_LABELS } from './to-mesh-routes.ts';

/** Types of the rows that hold Gateway API documents. They are never synced. */
export const GATEWAY_TYPES: ReadonlySet<string> = new Set(['HTTPRoute', 'TCPRoute']);

/** The document of a row, as `parseRoute` reads it. */
export function documentOf(row: {
  readonly type: string;
  readonly mesh: string;
  readonly name: string;
  readonly labels: Labels;
  readonly spec: JsonObject;
  readonly status?: JsonObject;
}): JsonObject {
  const namespace = row.labels[label.namespace];
  const own = Object.entries(row.labels).filter(([key]) => !COMPUTED_LABELS.has(key));
  return {
    apiVersion: `${GATEWAY_GROUP}/v1`,
    kind: row.type,
    metadata: {
      name: displayNameOf(row),
      ...(namespace !== undefined && { namespace }),
      labels: { ...Object.fromEntries(own), [label.mesh]: row.mesh },
    },
    spec: row.spec,
    ...(row.status !== undefined && Object.keys(row.status).length > 0 && { status: row.status }),
  };
}
