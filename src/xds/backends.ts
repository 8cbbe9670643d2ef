// The backends of a route rule: the ports of its references, and the share of requests whose reference does not resolve (xds 3.2).
import { isIP } from 'node:net';
import { LRUCache } from 'lru-cache';
import { perObject } from '../base/per-object.ts';
import type { RouteConf, ServiceRef } from '../policies/routes.ts';
import { textOf } from '../resource/read-json.ts';
import { isServiceType } from '../resource/type-registry.ts';
import type { JsonObject } from '../resource/types.ts';
import { backendPort, type Referrer } from '../policy/backend-port.ts';
import type { MeshIndex } from '../policy/mesh-index.ts';
import type { Outbound } from '../policy/outbounds.ts';
import type { Backends, Mirror } from './backend.ts';
import { RouteSource } from './route-source.ts';

/** A rule, by its route. */
type SourceRule = { readonly route: Referrer & { readonly kri: string }; readonly index: number };

/** Finds the ports of services that references mean, as one control plane sees them. */
export class BackendResolver {
  readonly #index: MeshIndex;
  readonly #zone: string;
  /** What references mean, by the place that they are from and their text, while no service changes. */
  readonly #found = new Map<string, Map<string, Outbound | string>>();
  readonly #sources = new Map<string, RouteSource>();
  /** Of the services before they changed. */
  readonly #sourcesBefore = new LRUCache<string, RouteSource>({ max: 1_000 });
  #last: { readonly rule: SourceRule; readonly kri: string; readonly source: RouteSource } | null = null;
  #revision = -1;

  /** @param zone of the proxy */
  constructor(index: MeshIndex, zone: string) {
    this.#index = index;
    this.#zone = zone;
  }

  /** The port of a service that a `backendRef` means; undefined where there is none. */
  find(ref: ServiceRef, from: Referrer): Outbound | undefined {
    const found = this.#portOf(ref, from);
    return typeof found === 'string' ? undefined : found;
  }

  /** The reason why a `backendRef` means no port; null where it means one. */
  whyNone(ref: ServiceRef, from: Referrer): string | null {
    const found = this.#portOf(ref, from);
    return typeof found === 'string' ? found : null;
  }

  /** What is remembered of the rules of a route on an outbound. */
  sourceOf(rule: SourceRule, { kri }: Outbound): RouteSource {
    this.#followServices();
    const last = this.#last;
    if (last?.kri === kri && last.rule.route === rule.route && last.rule.index === rule.index) return last.source;
    const { type = '', zone, namespace } = rule.route;
    const key = [kri, rule.route.kri, rule.index, type, zone, namespace].join(' ');
    let source = this.#sources.get(key);
    if (source === undefined) this.#sources.set(key, (source = new RouteSource(this.#sourcesBefore.get(key) ?? null)));
    this.#last = { rule, kri, source };
    return source;
  }

  /** A reference may mean something else when a service has changed. */
  #followServices(): void {
    const { serviceRevision } = this.#index;
    if (serviceRevision === this.#revision) return;
    this.#revision = serviceRevision;
    this.#found.clear();
    for (const [key, source] of this.#sources) this.#sourcesBefore.set(key, source);
    this.#sources.clear();
    this.#last = null;
  }

  #portOf(ref: ServiceRef, from: Referrer): Outbound | string {
    // What else it names may change without a service.
    if (!isServiceType(ref.kind)) return backendPort(this.#index, ref, from, this.#zone);
    this.#followServices();
    const place = `${from.type ?? ''}/${from.zone}/${from.namespace}`;
    let found = this.#found.get(place);
    if (found === undefined) this.#found.set(place, (found = new Map<string, Outbound | string>()));
    // The rules of a long route name few services.
    const text = textOfRef(ref);
    let port = found.get(text);
    if (port === undefined) found.set(text, (port = backendPort(this.#index, ref, from, this.#zone)));
    return port;
  }

  /**
   * The backends of a rule. A rule without references leads to the destination itself.
   * @param conf `default` of the rule
   */
  all({ backendRefs: refs }: RouteConf, from: Referrer, destination: Outbound): Backends {
    if (refs.length === 0) return { backends: [{ outbound: destination, weight: 1, filters: [] }], missingPercent: 0 };
    const total = refs.reduce((sum, { weight }) => sum + weight, 0);
    const backends = refs.flatMap((ref) => {
      const { weight, filters = [] } = ref;
      const outbound = weight === 0 ? undefined : this.find(ref, from);
      return outbound === undefined ? [] : [{ outbound, weight, filters }];
    });
    const present = backends.reduce((sum, { weight }) => sum + weight, 0);
    return { backends, missingPercent: total === 0 ? 100 : ((total - present) / total) * 100 };
  }

  /** The backends of the RequestMirror filters of a rule, with their shares; those that mean nothing are left out. */
  mirrors({ filters = [] }: RouteConf, from: Referrer): Mirror[] {
    return filters.flatMap(({ type, requestMirror }) => {
      if (type !== 'RequestMirror' || requestMirror === undefined) return [];
      const { backendRef, percentage: share } = requestMirror;
      const outbound = this.find(backendRef, from);
      return outbound === undefined ? [] : [{ outbound, share }];
    });
  }
}

const textOfRef = perObject(({ weight: _weight, ...ref }: ServiceRef & { readonly weight?: number }): string =>
  JSON.stringify(ref),
);

/** Whether an egress looks endpoints of an external service up by DNS. It then calls each endpoint by the endpoint's own name (xds 5). */
export function areNamed(endpoints: readonly JsonObject[]): boolean {
  return endpoints.some(({ address }) => isIP(textOf(address)) === 0);
}
