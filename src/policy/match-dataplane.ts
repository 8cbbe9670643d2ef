// Whether a policy matches a proxy, and which of its sections (policies 1.7, D14, D15). Invariant: no other code decides this.
import { label } from '../resource/labels.ts';
import type { Labels, Resource } from '../resource/types.ts';
import type { DataplaneProxy, Section } from './dataplane-proxy.ts';
import { isRouteKind, type Place, type Policy } from './parse-policy.ts';
import { describeRef, type TargetRef } from './target-ref.ts';

/** The selected sections (none on a delegated gateway), or the reason why the proxy does not match. */
export type Match =
  | { readonly isMatched: true; readonly sections: readonly Section[] }
  | { readonly isMatched: false; readonly reason: string; readonly isUnresolved?: boolean };

/** The part of the index that matching needs. */
export type Lookup = {
  /** @param zone of the proxy; only resources that its control plane has are found */
  resolve(ref: TargetRef, from: Place, zone: string): Resource[];
  policyOf(resource: Resource): Policy | undefined;
  /** Whether global has disabled a zone: its resources reach no other zone. */
  isDisabled(zone: string): boolean;
};

/** Label and tag that name a service in the old form. */
export const SERVICE_TAG = 'kuma.io/service';

/** Matches one policy against one proxy. Reasons are sentences without a subject: «is bound to zone east». */
export function matchDataplane(policy: Policy, proxy: DataplaneProxy, lookup: Lookup): Match {
  if (policy.isShadow) return no('is a shadow policy (label kuma.io/effect) and has no effect');
  const { role, zone, namespace } = policy;
  if (zone !== proxy.zone && lookup.isDisabled(zone)) return no(`comes from zone ${zone}, which is disabled`);
  if (policy.isHomebound && zone !== proxy.zone) return no('stays where it was written (label kuma.io/kds-sync is disabled)');
  if (role !== 'producer' && proxy.origin === 'zone' && policy.origin === 'zone' && zone !== '' && zone !== proxy.zone)
    return no(`belongs to zone ${zone}; only producer policies reach other zones`);
  if ((role === 'consumer' || role === 'workload-owner') && namespace !== proxy.namespace)
    return no(`is a ${role} policy of namespace ${namespace || '(none)'} and stays there`);
  return select(policy, proxy, lookup);
}

/** Matches the top-level targetRef. */
function select(policy: Policy, proxy: DataplaneProxy, lookup: Lookup): Match {
  const ref = policy.targetRef;
  if (ref.proxyTypes.length > 0 && !ref.proxyTypes.includes(proxy.gatewayTags === null ? 'Sidecar' : 'Gateway'))
    return no(`targets proxies of type ${ref.proxyTypes.join(', ')} alone`);
  if (isRouteKind(ref.kind)) return selectByRoute(policy, proxy, lookup);
  switch (ref.kind) {
    case 'Mesh':
      return found(proxy, proxy.sections);
    case 'Dataplane':
      return selectDataplane(policy, proxy, lookup);
    case 'MeshSubset':
      return selectByTags(ref, proxy, Object.entries(ref.tags));
    case 'MeshService':
    case 'MeshServiceSubset':
      return selectByTags(ref, proxy, [[SERVICE_TAG, ref.name], ...Object.entries(ref.tags)]);
    case 'MeshGateway':
      return no('targets a MeshGateway, which this control plane does not support');
    default:
      return no(`targets ${ref.kind}, which selects no proxies`);
  }
}

function selectDataplane(policy: Policy, proxy: DataplaneProxy, lookup: Lookup): Match {
  const ref = policy.targetRef;
  const isMeant =
    ref.labels === null
      ? ref.name === '' || lookup.resolve(ref, policy, proxy.zone).includes(proxy.resource)
      : hasLabels(proxy, ref.labels);
  if (!isMeant) return no(`targets ${describeRef(ref)}, which is not this one`);
  if (ref.sectionName === '') return found(proxy, proxy.sections);
  const sections = proxy.sections.filter(({ section }) => section === ref.sectionName);
  if (sections.length === 0 && proxy.gatewayTags === null)
    return no(`targets section ${ref.sectionName}, which it does not have`);
  return found(proxy, sections);
}

/** The display name counts as a label, even if the label is missing (policies 1.7). */
function hasLabels(proxy: DataplaneProxy, labels: Labels): boolean {
  return Object.entries(labels).every(
    ([key, value]) => (key === label.displayName ? proxy.displayName : proxy.labels[key]) === value,
  );
}

/** An inbound without a tag of that key has the value of the Dataplane's label (D14). */
function selectByTags(ref: TargetRef, proxy: DataplaneProxy, tags: readonly (readonly [string, string])[]): Match {
  const carries = (own: Readonly<Record<string, string>>): boolean =>
    tags.every(([key, value]) => (own[key] ?? proxy.labels[key]) === value);
  const sections = proxy.sections.filter((section) => carries(section.tags));
  if (sections.length === 0 && (proxy.gatewayTags === null || !carries(proxy.gatewayTags))) {
    const wanted = tags.map(([key, value]) => `${key}=${value}`).join(', ');
    return no(`targets a ${ref.kind} with tags ${wanted}, which neither an inbound nor the Dataplane's labels have`);
  }
  return found(proxy, sections);
}

/** The old form selects the proxies of the route (policies 1.7). Only system policies may use it (MADR 063). */
function selectByRoute(policy: Policy, proxy: DataplaneProxy, lookup: Lookup): Match {
  const ref = policy.targetRef;
  if (policy.role !== 'system') return no(`targets a ${ref.kind} at the top, which only system policies may do`);
  const routes = lookup.resolve(ref, policy, proxy.zone).flatMap((resource) => lookup.policyOf(resource) ?? []);
  if (routes.length === 0)
    return { isMatched: false, isUnresolved: true, reason: `targets ${describeRef(ref)}, which does not exist` };
  for (const route of routes) {
    if (isRouteKind(route.targetRef.kind)) continue;
    const match = matchDataplane(route, proxy, lookup);
    if (match.isMatched) return match;
  }
  return no(`targets ${describeRef(ref)}, which is on other proxies`);
}

/** A proxy matches if a section is selected or it is a delegated gateway. */
function found(proxy: DataplaneProxy, sections: readonly Section[]): Match {
  if (sections.length === 0 && proxy.gatewayTags === null) return no('finds no inbound and no zone listener on it');
  return { isMatched: true, sections };
}

function no(reason: string): Match {
  return { isMatched: false, reason };
}
