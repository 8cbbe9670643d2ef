// Names of resources in inspect answers: the stored name on the queried control plane, as in Kuma.
import type { JsonObject, Resource } from '../resource/types.ts';
import type { Contribution } from './resource-rule.ts';

/** `{type, mesh, name, labels}`. The name is the stored one, with which the next question can be asked; labels have the display name. */
export function metaOf(resource: Resource): JsonObject {
  let meta = known.get(resource);
  if (meta === undefined) {
    const { type, mesh, name, labels } = resource;
    known.set(resource, (meta = { type, mesh, name, labels: { ...labels } }));
  }
  return meta;
}

const known = new WeakMap<Resource, JsonObject>();

/** Contributors in merge order, as `{resourceMeta, ruleIndex}`. */
export function originsOf(contributions: readonly Contribution[]): JsonObject[] {
  return contributions.map(({ policy, index }) => ({ resourceMeta: metaOf(policy.resource), ruleIndex: index }));
}

/** Contributors in merge order, as `{kri}`, each policy once. */
export function originKris(contributions: readonly Pick<Contribution, 'policy'>[]): JsonObject[] {
  return [...new Set(contributions.map(({ policy }) => policy.kri))].map((kri) => ({ kri }));
}
