// Which objects of a Kubernetes cluster are resources that a Kuma global wrote itself, and why the others are left out. A table of rules: the
// first that decides wins. Pure.
import { originOf } from '../resource/ownership.ts';
import { objectOf, objectsOf, textMapOf, textOf } from '../resource/read-json.ts';
import { findType } from '../resource/type-registry.ts';
import type { JsonObject } from '../resource/types.ts';
import { isComputed } from '../takeover/older-types.ts';
import { rowOfKubernetes } from '../takeover/read-dump.ts';
import type { TakenRow } from '../takeover/taken-row.ts';

/** The ConfigMap with the identity of the installation; its row has the same name. */
export const CLUSTER_ID = 'kuma-cluster-id';

type Sorted =
  | { readonly row: TakenRow }
  /** @property row null for an object that is no resource of Kuma */
  | { readonly reason: string; readonly row: TakenRow | null };

type Rule = {
  readonly reason: string;
  readonly fits: (row: TakenRow, object: JsonObject) => boolean;
};

/** GlobalSecrets that a Kuma control plane makes for itself. No zone gets them, and no token needs them. */
const OWN_SECRETS = new Set(['envoy-admin-ca', 'inter-cp-ca']);

const RULES: readonly Rule[] = [
  {
    reason: 'it is being deleted',
    fits: (_, object) => (objectOf(object['metadata'])['deletionTimestamp'] ?? null) !== null,
  },
  { reason: 'control planes compute it', fits: ({ type }) => type.endsWith('Insight') },
  { reason: 'it is for the pods of its own cluster', fits: ({ type }) => findType(type) === undefined && isComputed(type) },
  {
    reason: 'it is a copy of a zone, which sends it again',
    fits: ({ labels }, object) => originOf(labels) === 'zone' || ownersOf(object).includes('Zone'),
  },
  { reason: 'only zones write this type, and they send it again', fits: ({ type }) => findType(type)?.writers === 'zone' },
  {
    reason: 'it belongs to the old control plane, and Meridian makes its own',
    fits: ({ type, name }) => type === 'GlobalSecret' && OWN_SECRETS.has(name),
  },
];

/** The row of an object, or the reason why it is left out. */
export function sortObject(object: JsonObject): Sorted {
  const clusterId = rowOfClusterId(object);
  if (clusterId !== null) return { row: clusterId };
  const row = rowOfKubernetes(object);
  if (row === null) return { reason: 'it is no resource of Kuma', row };
  const rule = RULES.find(({ fits }) => fits(row, object));
  return rule === undefined ? { row } : { reason: rule.reason, row };
}

/** A Kubernetes global keeps its Configs as ConfigMaps. Only this one is of use to another control plane. */
function rowOfClusterId({ apiVersion, kind, metadata, data }: JsonObject): TakenRow | null {
  const { name } = objectOf(metadata);
  if (apiVersion !== 'v1' || kind !== 'ConfigMap' || name !== CLUSTER_ID) return null;
  const labels = textMapOf(objectOf(metadata)['labels']);
  return { type: 'Config', mesh: '', name: CLUSTER_ID, labels, spec: { config: textOf(objectOf(data)['config']) } };
}

function ownersOf(object: JsonObject): string[] {
  return objectsOf(objectOf(object['metadata'])['ownerReferences']).map(({ kind }) => textOf(kind));
}
