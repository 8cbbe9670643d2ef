// How inspect answers name a resource: the same on every control plane, without hash suffixes (MADR 029, policies 8).
import { displayNameOf, label } from '../resource/labels.ts';
import type { JsonObject, Resource } from '../resource/types.ts';
import type { Contribution } from './resource-rule.ts';

/**
 * `{type, mesh, name, labels}` as the zone of the proxy sees it: the display name, and origin `global` for what is of another
 * zone, so that the global's answer about a proxy equals its zone's.
 */
export function metaOf(resource: Resource, zone: string): JsonObject {
  let ofZone = known.get(resource);
  if (ofZone === undefined) known.set(resource, (ofZone = new Map<string, JsonObject>()));
  let meta = ofZone.get(zone);
  if (meta === undefined) ofZone.set(zone, (meta = writeMeta(resource, zone)));
  return meta;
}

const known = new WeakMap<Resource, Map<string, JsonObject>>();

function writeMeta(resource: Resource, zone: string): JsonObject {
  const labels: Record<string, string> = { ...resource.labels };
  const home = labels[label.zone] ?? '';
  if (labels[label.origin] === 'zone' && home !== '' && zone !== '' && home !== zone) labels[label.origin] = 'global';
  return { type: resource.type, mesh: resource.mesh, name: displayNameOf(resource), labels };
}

/** Contributors in merge order, as `{resourceMeta, ruleIndex}`. */
export function originsOf(contributions: readonly Contribution[], zone: string): JsonObject[] {
  return contributions.map(({ policy, index }) => ({ resourceMeta: metaOf(policy.resource, zone), ruleIndex: index }));
}

/** Contributors in merge order, as `{kri}`, each policy once. */
export function originKris(contributions: readonly Pick<Contribution, 'policy'>[]): JsonObject[] {
  return [...new Set(contributions.map(({ policy }) => policy.kri))].map((kri) => ({ kri }));
}
