// A stored Gateway API route ⇄ its document (D5, D24). The spec keeps its original spelling.
import type { Violation } from '../base/violations.ts';
import { displayNameOf, label } from '../resource/labels.ts';
import type { JsonObject, Labels } from '../resource/types.ts';
import { GATEWAY_GROUP } from './gateway-route.ts';
import { parseRoute } from './parse-route.ts';
import { COMPUTED_LABELS } from './to-mesh-routes.ts';
import { objectOf } from '../resource/read-json.ts';

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
  const namespace = row.labels[label.namespace] || undefined;
  const own = Object.entries(row.labels).filter(([key]) => !COMPUTED_LABELS.has(key));
  return {
    apiVersion: gatewayVersionOf(row.type),
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

/** The apiVersion of documents that are written here: TCPRoute has never left v1alpha2. */
export function gatewayVersionOf(kind: string): string {
  return `${GATEWAY_GROUP}/${kind === 'TCPRoute' ? 'v1alpha2' : 'v1'}`;
}

/**
 * The body of a row that holds this document, in Universal form, or the violations outside its spec: apiVersion, kind, metadata.
 * The spec is the business of `checkRoute`, which every way of writing goes through.
 * @param document its apiVersion is of Gateway API's group (`isGatewayDocument`)
 */
export function universalOf(document: JsonObject): { readonly body: JsonObject } | { readonly violation: Violation } {
  const parsed = parseRoute(document);
  const violation = 'route' in parsed ? undefined : parsed.violations.find(({ field }) => !/^spec\b./.test(field));
  if (violation !== undefined) return { violation };
  const metadata = objectOf(document['metadata']);
  const { [label.mesh]: mesh = 'default', ...labels } = objectOf(metadata['labels']);
  const namespace = metadata['namespace'] ?? labels[label.namespace];
  return {
    body: {
      type: document['kind'] ?? null,
      name: metadata['name'] ?? null,
      mesh,
      labels: { ...labels, ...(typeof namespace === 'string' && { [label.namespace]: namespace }) },
      spec: document['spec'] ?? null,
    },
  };
}
