// The well-known labels. They keep the information that a hashed name lacks (kds-wire 5.1, MADR 029).
import type { Labels } from './types.ts';

export const label = {
  origin: 'kuma.io/origin',
  zone: 'kuma.io/zone',
  displayName: 'kuma.io/display-name',
  mesh: 'kuma.io/mesh',
  env: 'kuma.io/env',
  namespace: 'k8s.kuma.io/namespace',
  policyRole: 'kuma.io/policy-role',
  effect: 'kuma.io/effect',
  kdsSync: 'kuma.io/kds-sync',
  listenerZoneIngress: 'kuma.io/listener-zoneingress',
  listenerZoneEgress: 'kuma.io/listener-zoneegress',
  proxyType: 'kuma.io/proxy-type',
  managedBy: 'kuma.io/managed-by',
  workload: 'kuma.io/workload',
  deletionGracePeriodStartedAt: 'kuma.io/deletion-grace-period-started-at',
  /** A MeshTrust has it while its zone changes an authority, and asks the others to say what their proxies have accepted. */
  authorityChanges: 'meridian.io/authority-changes',
  /** A MeshTrust names with it the trust bundle that the proxies of its zone have accepted. */
  acceptedTrust: 'meridian.io/accepted-trust',
  /** A Mesh says with it what redirected proxies reach whose Dataplanes have no `reachableBackends`. */
  reachable: 'meridian.io/reachable',
} as const;

/**
 * Values of `managedBy` in rows that a control plane computes from others. Kuma writes the same. Other writers may give other
 * values.
 */
export const manager = {
  services: 'meshservice-generator',
  zoneIngress: 'zone-ingress-publisher',
  workloads: 'workload-generator',
  gatewayApi: 'gateway-api',
} as const;

const QUALIFIED_NAME = '[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?';
/** A key as Kubernetes has it: an optional DNS prefix and «/», then a name. */
export const LABEL_KEY = new RegExp(`^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?${QUALIFIED_NAME}$`);
export const LABEL_VALUE = new RegExp(`^(${QUALIFIED_NAME})?$`);

/** The name a person gave: the display-name label, else the stored name. */
export function displayNameOf({ name, labels }: { name: string; labels?: Labels }): string {
  return labels?.[label.displayName] ?? name;
}

/** As `label.reachable`, for the proxies of one zone: `reachable.meridian.io/ZONE`. */
const REACHABLE_IN = 'reachable.meridian.io/';
/** All services of the mesh, which is the default, or none. */
export const REACHABLE = ['all', 'none'] as const;

/**
 * What redirected proxies of a zone reach that name no `reachableBackends`.
 * @param labels of the Mesh. A value that is none of `REACHABLE` counts as not given
 */
export function defaultReach(labels: Labels, zone: string): (typeof REACHABLE)[number] {
  const given = [labels[REACHABLE_IN + zone], labels[label.reachable]];
  return given.flatMap((value) => REACHABLE.find((known) => known === value) ?? []).at(0) ?? 'all';
}

/** Whether a label of a Mesh says what proxies reach. */
export function isReachLabel(key: string): boolean {
  return key === label.reachable || key.startsWith(REACHABLE_IN);
}
