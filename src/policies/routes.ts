// The types of checked routes, as their schemas infer them. Invariant: a rule that passed the check is read by its fields from here on.
import type { z } from 'zod';
import type { meshHTTPRouteSpec } from './mesh-http-route/spec.ts';
import type { meshTCPRouteSpec } from './mesh-tcp-route/spec.ts';

export type RouteKind = 'MeshHTTPRoute' | 'MeshTCPRoute';

/** A route as an author writes it: defaults may be missing. */
export type WrittenHttpRoute = z.input<typeof meshHTTPRouteSpec>;
export type WrittenTcpRoute = z.input<typeof meshTCPRouteSpec>;

type RuleOf<R extends { to?: readonly { rules: readonly unknown[] }[] | undefined }> = NonNullable<
  R['to']
>[number]['rules'][number];
type HttpRule = RuleOf<z.infer<typeof meshHTTPRouteSpec>>;
type HttpConf = NonNullable<HttpRule['default']>;

/** One of the matches of a rule. */
export type HttpMatch = HttpRule['matches'][number];
/** A filter of a rule, or of one of its backends. */
export type RouteFilter = NonNullable<HttpConf['filters']>[number];

type CheckedRef = NonNullable<HttpConf['backendRefs']>[number];
/** A reference to a service. One of an unknown kind stays: its share of the requests has no backend. */
export type ServiceRef = Omit<CheckedRef, 'kind' | 'weight' | 'filters'> & { readonly kind: string };
/** A backend of a rule. A backend of a TCP route or of a mirror has no filters. */
export type BackendRef = ServiceRef & Pick<CheckedRef, 'weight' | 'filters'>;

/** The `default` of a rule of either kind. A rule without backends leads to the service that clients call. */
export type RouteConf = Pick<HttpConf, 'filters'> & { readonly backendRefs: readonly BackendRef[] };

/** The parts of a route as an author writes them. */
export type WrittenHttpRule = RuleOf<WrittenHttpRoute>;
export type WrittenTcpRule = RuleOf<WrittenTcpRoute>;
type WrittenConf = NonNullable<WrittenHttpRule['default']>;
export type WrittenTarget = NonNullable<WrittenHttpRoute['to']>[number]['targetRef'];
export type WrittenMatch = WrittenHttpRule['matches'][number];
export type WrittenFilter = NonNullable<WrittenConf['filters']>[number];
export type WrittenBackend = NonNullable<WrittenConf['backendRefs']>[number];
