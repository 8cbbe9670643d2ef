// Keys of Kuma 2.x that a Kuma 3 reads over: it neither refuses nor keeps them (policies 0, kds-wire 4). One table for what is sent to
// its zones, for the warnings of a write, and for the check before a takeover. Pure.
import { edit, find, path, without, type Path } from './spec-places.ts';
import type { TypeInfo } from './type-registry.ts';
import type { JsonObject } from './types.ts';

/** A key in a spec. @property advice what does its work now */
type OlderKey = { readonly at: Path; readonly advice: string };

const RULES = 'write rules, in a policy of its own if this one has to';
const LABELS =
  'select proxies by kind Dataplane with labels; without built-in gateways a policy for proxyTypes [Gateway] has no use';

/** The keys of each policy with a targetRef. */
const OF_POLICIES: readonly OlderKey[] = table({ 'targetRef.proxyTypes': LABELS, from: RULES });

const BY_TYPE: Readonly<Record<string, readonly OlderKey[]>> = {
  Mesh: table({
    mtls: 'write a MeshIdentity, and a MeshTLS for the mode',
    tracing: 'write a MeshTrace',
    logging: 'write a MeshAccessLog',
    metrics: 'write a MeshMetric',
    networking: 'write a MeshPassthrough',
    routing: 'write a MeshLoadBalancingStrategy for localities; a MeshExternalService always uses the egress',
    constraints: 'zones admit proxies by token',
    meshServices: 'the services of a mesh are always MeshServices',
  }),
  Dataplane: table({
    metrics: 'write a MeshMetric',
    probes: 'applications answer their own probes',
    envoy: 'the transport is chosen by the zone',
    'networking.ingress': 'write a Dataplane with networking.zoneIngress',
    'networking.advertisedAddress': 'write the address in networking.zoneIngress',
    'networking.outbound.*.service': 'write backendRef',
    'networking.outbound.*.tags': 'write backendRef',
    'networking.transparentProxying.reachableServices': 'write reachableBackends',
    'networking.transparentProxying.redirectPortInboundV6': 'IPv6 has the port of IPv4',
  }),
  MeshHealthCheck: table({
    'to.*.default.healthyPanicThreshold': 'write outlierDetection.healthyPanicThreshold in a MeshCircuitBreaker',
  }),
  MeshMetric: table({
    'default.sidecar.regex': 'write default.sidecar.profiles',
    'default.sidecar.usedOnly': 'write default.sidecar.includeUnused',
  }),
};

/** The keys that a type has no more. */
export function olderKeysOf(info: TypeInfo): readonly OlderKey[] {
  const own = BY_TYPE[info.name] ?? [];
  return info.policy === null ? own : [...OF_POLICIES, ...own];
}

/**
 * A key that stands in a spec.
 * @property field the field as violations print it
 * @property key its path in the type, for lists of kinds
 */
type FoundKey = { readonly field: string; readonly key: string; readonly advice: string };

/** The older keys of a spec that have a value. */
export function olderKeysIn(info: TypeInfo, spec: JsonObject): FoundKey[] {
  return olderKeysOf(info).flatMap(({ at, advice }) =>
    find(spec, at, info.codec.kind === 'json' ? 'spec' : '')
      .filter(({ value }) => !isNothing(value))
      .map(({ name }) => ({ field: name.replace(/^\./, ''), key: at.join('.'), advice })),
  );
}

/** The spec as a Kuma 3 reads it; the same object if it has no such key. */
export function withoutOlderKeys(info: TypeInfo, spec: JsonObject): JsonObject {
  return olderKeysOf(info).reduce((rest, { at }) => {
    const [last = '', ...above] = at.toReversed();
    return edit(rest, above.toReversed(), (holder) => without(holder, [last]));
  }, spec);
}

/** The warnings of a write whose spec has keys that nothing reads. */
export function olderKeyWarnings(info: TypeInfo, spec: JsonObject): string[] {
  return olderKeysIn(info, spec).map(({ field, advice }) => `${field}: ${OLDER_KEY}; ${advice}`);
}

/** The reason that is given for a key that nothing reads. */
export const OLDER_KEY = 'is a key of Kuma 2.x and has no effect';

function isNothing(value: unknown): boolean {
  return value === null || (Array.isArray(value) && value.length === 0);
}

function table(rows: Readonly<Record<string, string>>): OlderKey[] {
  return Object.entries(rows).map(([at, advice]) => ({ at: path(at), advice }));
}
