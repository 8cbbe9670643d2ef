// A stored Gateway API route ⇄ its document, and the check before it is stored (D5, D24, D25). The spec keeps its original spelling.
// Invariant: the reconciler can convert every row that passes the check, whatever its references resolve to.
import type { Violation } from '../base/violations.ts';
import { displayNameOf, label } from '../resource/labels.ts';
import type { JsonObject, Resource } from '../resource/types.ts';
import { GATEWAY_GROUP } from './gateway-route.ts';
import { parseRoute } from './parse-route.ts';
import { COMPUTED_LABELS } from './to-mesh-routes.ts';
import { objectOf } from '../resource/read-json.ts';

/** Types of the rows that hold Gateway API documents. They are never synced. */
export const GATEWAY_TYPES: ReadonlySet<string> = new Set(['HTTPRoute', 'TCPRoute']);

type RouteRow = Pick<Resource, 'type' | 'mesh' | 'name' | 'labels' | 'spec'>;

/** The document of a row, as `parseRoute` reads it. */
export function documentOf(row: RouteRow & Partial<Pick<Resource, 'status'>>): JsonObject {
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

/** The apiVersion of printed documents: TCPRoute exists only in v1alpha2. */
function gatewayVersionOf(kind: string): string {
  return `${GATEWAY_GROUP}/${kind === 'TCPRoute' ? 'v1alpha2' : 'v1'}`;
}

/**
 * The body of a row that holds this document, in Universal form, or the violations outside its spec: apiVersion, kind, metadata.
 * `checkRoute` checks the spec, on every write.
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

/**
 * All violations of a route in Universal form, with paths in that form: `name`, `labels["…"]`, `spec.rules[0]…`. Unknown keys are
 * refused, also by a plain PUT: no part of a traffic description is dropped silently.
 * @param row.type HTTPRoute or TCPRoute
 * @param row.name the display name
 */
export function checkRoute(row: RouteRow): readonly Violation[] {
  // The write computes the display name: ignore the one of the caller.
  const { [label.displayName]: _given, ...labels } = row.labels;
  const parsed = parseRoute(documentOf({ ...row, labels }));
  return 'route' in parsed ? [] : parsed.violations.map(({ field, reason }) => ({ field: universalField(field), reason }));
}

function universalField(field: string): string {
  if (field === 'metadata.namespace') return `labels[${JSON.stringify(label.namespace)}]`;
  return field.replace(/^metadata\.(?=name$|labels)/, '');
}
