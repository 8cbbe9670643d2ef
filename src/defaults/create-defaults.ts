// Writes the default resources that a global and a standalone zone share (kds-wire 9, rest-api 7.3). Every write is a create, so a
// second run changes nothing. The id of the cluster is written last and marks the run as complete: defaults that a person deletes
// later are not recreated.
import { randomUUID } from 'node:crypto';
import { MeridianError } from '../base/errors.ts';
import {
  CLUSTER_ID_CONFIG,
  DEFAULT_MESH,
  dataplaneTokenKeyPrefix,
  initialPolicies,
  ZONE_TOKEN_KEY_PREFIX,
  type HostnameGeneratorDefault,
} from './default-resources.ts';
import { describeKey, type Labels, type Resource, type ResourceKey } from '../resource/types.ts';
import { label } from '../resource/labels.ts';
import { textOf } from '../resource/read-json.ts';
import { secretSpec } from '../resource/secret-data.ts';
import { createSigningKey } from './signing-key.ts';
import type { ResourceStore, Write } from '../store/resource-store.ts';

/** `defaults` of the configuration (rest-api 7.1). */
export type DefaultsConfig = {
  readonly skipMeshCreation: boolean;
  readonly skipTenantResources: boolean;
  readonly skipHostnameGenerators: boolean;
};

/** The control plane that creates the defaults; the labels of the initial policies name it. */
type DefaultsOwner = { readonly mode: 'global' } | { readonly mode: 'zone'; readonly zone: string };

type Create = Write & { readonly op: 'create' };

/** Returns true if `createBaseDefaults` has completed on this store, or an id was synced. */
export async function hasClusterId(store: ResourceStore): Promise<boolean> {
  return (await store.get(clusterIdKey)) !== undefined;
}

/**
 * Creates the resources of a control plane without a global: Mesh `default` with its policies (if wanted), the key that signs zone
 * tokens, and last the id of the cluster. Call it only on the leader.
 */
export async function createBaseDefaults(store: ResourceStore, owner: DefaultsOwner, config: DefaultsConfig): Promise<void> {
  if (config.skipTenantResources) return;
  const isFirstStart = !(await hasClusterId(store));
  if (isFirstStart && !config.skipMeshCreation) await createDefaultMesh(store, owner);
  await createAbsent(store, await firstKey(store, 'GlobalSecret', '', ZONE_TOKEN_KEY_PREFIX, null));
  if (isFirstStart) await createAbsent(store, [create(clusterIdKey, {}, { config: randomUUID() })]);
}

/**
 * The defaults of a Mesh that is created here, not synced: its key for dataplane tokens and its initial policies. Write them in one
 * transaction with the Mesh. Otherwise a crash between the two leaves a mesh without defaults. Existing rows stay unchanged.
 */
export async function meshDefaults(
  store: ResourceStore,
  mesh: Pick<Resource, 'name' | 'spec'>,
  owner: DefaultsOwner,
): Promise<Create[]> {
  const meshKey: ResourceKey = { type: 'Mesh', mesh: '', name: mesh.name };
  const key = await firstKey(store, 'Secret', mesh.name, dataplaneTokenKeyPrefix(mesh.name), meshKey);
  const policies = initialPolicies(mesh.name, mesh.spec).map(({ type, name, spec }) =>
    create({ type, mesh: mesh.name, name }, policyLabels(name, mesh.name, owner), spec, meshKey),
  );
  return [...key, ...policies];
}

/** HostnameGenerators of one of the tables of src/defaults/default-resources.ts. */
export async function createHostnameGenerators(
  store: ResourceStore,
  generators: readonly HostnameGeneratorDefault[],
  labels: Labels,
): Promise<void> {
  await createAbsent(
    store,
    generators.map(({ name, spec }) => create({ type: 'HostnameGenerator', mesh: '', name }, labels, spec)),
  );
}

/**
 * Creates the missing rows. Existing rows stay unchanged.
 * @throws MeridianError `internal` when the store refuses a row
 */
export async function createAbsent(store: ResourceStore, writes: readonly Create[]): Promise<void> {
  if (writes.length === 0) return;
  const outcomes = await store.writeBatch(writes);
  for (const [index, outcome] of outcomes.entries()) {
    const write = writes[index];
    if (outcome.result !== 'rejected' || write === undefined) continue;
    throw new MeridianError('internal', `default resource ${describeKey(write.key)} could not be created: ${outcome.message}`);
  }
}

/** A create of a row of the control plane itself. */
export function create(key: ResourceKey, labels: Labels, spec: Resource['spec'], owner: ResourceKey | null = null): Create {
  return { op: 'create', key, labels, spec, owner };
}

/** The Config with the id of the cluster. */
export const clusterIdKey: ResourceKey = { type: 'Config', mesh: '', name: CLUSTER_ID_CONFIG };

/** The identity of the installation; empty before its first start is over. */
export async function clusterIdOf(store: Pick<ResourceStore, 'get'>): Promise<string> {
  return textOf((await store.get(clusterIdKey))?.spec['config']);
}

async function createDefaultMesh(store: ResourceStore, owner: DefaultsOwner): Promise<void> {
  const key: ResourceKey = { type: 'Mesh', mesh: '', name: DEFAULT_MESH };
  // A person may have created it first, with policies to skip.
  const { name, spec } = (await store.get(key)) ?? { name: key.name, spec: {} };
  await createAbsent(store, [create(key, {}, spec), ...(await meshDefaults(store, { name, spec }, owner))]);
}

/** Key number 1, or none if the store has a key with any serial: a rotated key must not be recreated. */
async function firstKey(
  store: ResourceStore,
  type: 'Secret' | 'GlobalSecret',
  mesh: string,
  prefix: string,
  owner: ResourceKey | null,
): Promise<Create[]> {
  const known = await store.list({ type, ...(mesh !== '' && { mesh }), nameContains: prefix });
  if (known.some((row) => row.name.startsWith(prefix))) return [];
  return [create({ type, mesh, name: `${prefix}1` }, {}, secretSpec(await createSigningKey()), owner)];
}

/** The labels that the REST API would compute (kds-wire 9, rest-api 2.5). */
function policyLabels(name: string, mesh: string, owner: DefaultsOwner): Labels {
  return {
    [label.displayName]: name,
    [label.mesh]: mesh,
    [label.origin]: owner.mode,
    ...(owner.mode === 'zone' && { [label.zone]: owner.zone, [label.env]: 'universal' }),
  };
}
