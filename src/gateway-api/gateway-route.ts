// The normalised model of a Gateway API route: one form for both spellings of a backend (GEP-718 «API» and «Note on future
// consolidation»). Invariant: every default is filled in, and the model has every field of the document's spec.
import type { Violation } from '../base/violations.ts';
import type { WrittenBackend, WrittenFilter, WrittenMatch } from '../policies/routes.ts';
import type { Labels } from '../resource/types.ts';

/** The group of Gateway API's own kinds. */
export const GATEWAY_GROUP = 'gateway.networking.k8s.io';

/** The group of the mesh's own service kinds, as parents and backends. */
export const MESH_GROUP = 'kuma.io';

/** The object that a reference names. The namespace is that of the reference, else that of the route, else undefined. */
export type ObjectRef = {
  /** `''` is the group of Service. */
  readonly group: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace: string | undefined;
};

/** The service whose clients take the route; `port` or `sectionName` (a port's name) narrow it to one port. */
export type ParentRef = ObjectRef & {
  /** Path in the document, for messages. */
  readonly at: string;
  readonly port: number | undefined;
  readonly sectionName: string | undefined;
};

export type Backend = ObjectRef & {
  /** Path in the document, for messages. */
  readonly at: string;
  /** A Service always has one (GEP-718: «Port is required when the backend is a Kubernetes Service»). */
  readonly port: number | undefined;
  /** 0…1,000,000; its share is weight / sum over the rule. */
  readonly weight: number;
  /** Modifiers of headers, as MeshHTTPRoute has them (policies 2.5). */
  readonly filters: NonNullable<WrittenBackend['filters']>;
};

export type RouteFilter =
  | { readonly type: 'RequestMirror'; readonly backend: Backend; readonly percentage: number | string | undefined }
  | {
      readonly type: 'RequestHeaderModifier' | 'ResponseHeaderModifier' | 'RequestRedirect' | 'URLRewrite';
      /** The filter as MeshHTTPRoute has it (policies 2.5): the two APIs agree on these. */
      readonly written: WrittenFilter;
    };

export type RouteRule = {
  /** The author gives it, for messages alone. */
  readonly name: string | undefined;
  /** The matches as MeshHTTPRoute has them (policies 2.5), at least one; a TCPRoute has none. */
  readonly matches: readonly WrittenMatch[];
  readonly filters: readonly RouteFilter[];
  /** Only a redirect has none. */
  readonly backends: readonly Backend[];
  /** The limit in whole milliseconds; 0 means no limit. */
  readonly requestTimeout: number | undefined;
  /** The reasons to leave out the rule, whose other fields may then be incomplete. Only a rule of a stored route has some. */
  readonly violations: readonly Violation[];
};

export type GatewayRoute = {
  readonly kind: 'HTTPRoute' | 'TCPRoute';
  readonly mesh: string;
  readonly name: string;
  readonly namespace: string | undefined;
  /** The author's labels; namespace and mesh are taken out of them. */
  readonly labels: Labels;
  readonly parents: readonly ParentRef[];
  readonly rules: readonly RouteRule[];
};

/** Whether a reference is to a Kubernetes Service, the kind that needs a port. */
export function isService(ref: ObjectRef): boolean {
  return ref.group === '' && ref.kind === 'Service';
}

/** `Service "cart" in namespace "shop"`, `server.networking.acme.io "foo"`: for messages to people. */
export function describeRef(ref: ObjectRef): string {
  const kind = ref.group === '' ? ref.kind : `${ref.kind}.${ref.group}`;
  const place = ref.namespace === undefined ? '' : ` in namespace ${JSON.stringify(ref.namespace)}`;
  return `${kind} ${JSON.stringify(ref.name)}${place}`;
}
