// Resolves every reference of a route: parents become targets, backends become backendRefs. A rule with an unresolved reference is left
// out (GEP-718 «API»: «If the referent cannot be found, the rule is not included in the route»). So is an invalid rule of a stored route.
import type { WrittenBackend, WrittenTarget } from '../policies/routes.ts';
import { appProtocolOf } from './app-protocol.ts';
import { type Backend, describeRef, type GatewayRoute, type ParentRef, type RouteRule } from './gateway-route.ts';
import { describePorts, type Referent, type Resolver, sectionOf, type ServicePort } from './service-resolver.ts';

/** A rule that is left out, and one field that is the cause. */
export type DroppedRule = {
  /** Index in `spec.rules`. */
  readonly rule: number;
  readonly ruleName: string | undefined;
  /** Path of the field in the document. */
  readonly at: string;
  /** Gateway API's reason. */
  readonly reason: 'BackendNotFound' | 'InvalidKind' | 'UnsupportedProtocol' | 'UnsupportedValue';
  readonly message: string;
};

/** A rule that is left out, with one unresolved reference. */
export type BrokenReference = DroppedRule & { readonly reason: Exclude<DroppedRule['reason'], 'UnsupportedValue'> };

export type ResolvedParent = {
  readonly parent: ParentRef;
  /** `to[].targetRef`, or why there is none. */
  readonly target: { readonly targetRef: WrittenTarget } | { readonly problem: string };
};

export type ResolvedRoute = {
  readonly parents: readonly ResolvedParent[];
  /** The rules that stay; `backendRefs` by the backend they were made from. */
  readonly rules: readonly RouteRule[];
  readonly backendRefs: ReadonlyMap<Backend, WrittenBackend>;
  readonly broken: readonly BrokenReference[];
  /** The violations of the rules. */
  readonly invalid: readonly DroppedRule[];
  /** A sentence for each reference that is resolved but has less effect than it seems. */
  readonly warnings: readonly string[];
};

/** Looks up all references of a route. Pure apart from the resolver. */
export function resolveReferences(route: GatewayRoute, resolve: Resolver): ResolvedRoute {
  const warnings: string[] = [];
  const backendRefs = new Map<Backend, WrittenBackend>();
  const broken: BrokenReference[] = [];
  const parents = route.parents.map((parent) => ({ parent, target: resolveParent(route, parent, resolve, warnings) }));
  const rules = route.rules.filter((rule, index) => {
    const before = broken.length;
    const mirrors = rule.filters.flatMap((filter) => (filter.type === 'RequestMirror' ? [filter.backend] : []));
    for (const backend of [...rule.backends, ...mirrors]) {
      const outcome = resolveBackend(route, backend, resolve, warnings);
      if ('backendRef' in outcome) backendRefs.set(backend, outcome.backendRef);
      else broken.push({ rule: index, ruleName: rule.name, at: backend.at, ...outcome });
    }
    if (rule.backends.length > 0 && rule.backends.every(({ weight }) => weight === 0))
      warnings.push(`spec.rules[${String(index)}]: no backend has a weight over 0, so none of its requests is forwarded`);
    return broken.length === before && rule.violations.length === 0;
  });
  return { parents, rules, backendRefs, broken, invalid: invalidRules(route), warnings: [...new Set(warnings)] };
}

function invalidRules({ rules }: GatewayRoute): DroppedRule[] {
  return rules.flatMap(({ name, violations }, rule) =>
    violations.map(({ field, reason }): DroppedRule => {
      return { rule, ruleName: name, at: field, reason: 'UnsupportedValue', message: reason };
    }),
  );
}

function resolveParent(route: GatewayRoute, parent: ParentRef, resolve: Resolver, warnings: string[]): ResolvedParent['target'] {
  const resolution = resolve(parent);
  const shown = `${parent.at}: ${describeRef(parent)}`;
  if ('missing' in resolution) return { problem: `${shown}: ${resolution.missing}` };
  if ('foreign' in resolution) return { problem: `${shown}: ${resolution.foreign}` };
  const { found } = resolution;
  const { port: number, sectionName } = parent;
  const isNarrowed = number !== undefined || sectionName !== undefined;
  const fitting = found.ports.filter(
    (port) =>
      (number === undefined || port.port === number) &&
      (sectionName === undefined || sectionOf(port) === sectionName || String(port.port) === sectionName),
  );
  const [port] = fitting;
  if (isNarrowed && port === undefined) {
    const wanted = [number, sectionName].filter((part) => part !== undefined).join(' named ');
    return { problem: `${shown} has no port ${wanted}; its ports: ${describePorts(found)}` };
  }
  for (const one of isNarrowed ? fitting.slice(0, 1) : found.ports)
    warnOfProtocol(route, shown, found, one, 'HTTP rules have no effect there', warnings);
  return { targetRef: { ...refTo(found), ...(isNarrowed && port !== undefined && { sectionName: sectionOf(port) }) } };
}

type Outcome = { readonly backendRef: WrittenBackend } | Pick<BrokenReference, 'reason' | 'message'>;

/** A backend whose protocol no proxy speaks counts as unresolved (D25). */
function resolveBackend(route: GatewayRoute, backend: Backend, resolve: Resolver, warnings: string[]): Outcome {
  const resolution = resolve(backend);
  const shown = describeRef(backend);
  if ('missing' in resolution) return { reason: 'BackendNotFound', message: `${shown}: ${resolution.missing}` };
  if ('foreign' in resolution) return { reason: 'InvalidKind', message: `${shown}: ${resolution.foreign}` };
  const { found } = resolution;
  const port = backend.port === undefined ? onlyPort(found) : found.ports.find(({ port }) => port === backend.port);
  if (port === undefined) {
    const problem = backend.port === undefined ? 'needs port to be given' : `has no port ${String(backend.port)}`;
    return { reason: 'BackendNotFound', message: `${shown} ${problem}; its ports: ${describePorts(found)}` };
  }
  const protocol = appProtocolOf(found, port);
  if (protocol !== null && typeof protocol === 'object') {
    const message = `${shown}: port ${String(port.port)} speaks ${JSON.stringify(protocol.unsupported)}, which no proxy here can`;
    return { reason: 'UnsupportedProtocol', message };
  }
  warnOfProtocol(route, `${backend.at}: ${shown}`, found, port, 'it gets HTTP all the same', warnings);
  return { backendRef: { ...refTo(found), port: port.port } };
}

function warnOfProtocol(
  route: GatewayRoute,
  shown: string,
  found: Referent,
  port: ServicePort,
  effect: string,
  warnings: string[],
): void {
  const protocol = appProtocolOf(found, port);
  if (route.kind !== 'HTTPRoute' || (protocol !== 'tcp' && protocol !== null)) return;
  // A proxy takes a port without a protocol for tcp.
  const why = protocol === null ? 'has no appProtocol and counts as tcp' : 'speaks tcp';
  warnings.push(`${shown}: port ${String(port.port)} ${why}, so ${effect}: set its appProtocol to http, http2 or grpc`);
}

/** The reference has name and namespace, so that one into the route's own namespace makes a producer route (D9). */
function refTo({ kind, name, namespace }: Referent): { kind: Referent['kind']; name: string; namespace?: string } {
  return { kind, name, ...(namespace !== undefined && { namespace }) };
}

function onlyPort({ ports }: Referent): ServicePort | undefined {
  return ports.length === 1 ? ports[0] : undefined;
}
