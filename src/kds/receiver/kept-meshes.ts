// Meshes that a zone keeps when its membership ends. Deleting a Mesh deletes every row that it owns, such as policies of this zone, which a
// later membership would not bring back, and its Dataplanes and Secrets would have no mesh. So the zone refuses the removal while such rows
// exist (decision 70). Rows that a control plane computes from others do not count. They have the label of a known manager, and Secrets no
// origin; people and tools may set other values.
import { label, manager } from '../../resource/labels.ts';
import { isFromGlobal, originOf } from '../../resource/ownership.ts';
import { resourceTypes } from '../../resource/type-registry.ts';
import type { ResourceKey } from '../../resource/types.ts';
import type { ResourceMeta, ResourceStore } from '../../store/resource-store.ts';
import { nackedResource, type NackedResource } from '../protocol/nack.ts';

const COMPUTED: ReadonlySet<string> = new Set(['DataplaneInsight', 'Workload']);
const MANAGERS: ReadonlySet<string | undefined> = new Set(Object.values(manager));
const TYPES = resourceTypes.filter(({ name, scope }) => scope === 'Mesh' && !COMPUTED.has(name)).map(({ name }) => name);
/** The largest number of rows in a reason. */
const MAX_NAMED = 3;

/** Types that no Mesh owns, as in Kuma. */
const UNOWNED = ['Dataplane', 'Secret'];

/** The Meshes among these that have rows of this zone, each with a reason that names some of the rows. */
export async function keptMeshes(
  meshes: Iterable<ResourceKey>,
  store: Pick<ResourceStore, 'list' | 'listMeta'>,
): Promise<NackedResource[]> {
  const kept: NackedResource[] = [];
  for (const mesh of meshes) {
    const owned = await store.listMeta({ types: TYPES, owner: { type: 'Mesh', mesh: '', name: mesh.name } });
    const others = await Promise.all(UNOWNED.map((type) => store.list({ type, mesh: mesh.name })));
    const unowned = others.flat().filter((row) => row.owner === null && isOfThisZone(row));
    const rows = [...unowned, ...owned].filter(({ labels }) => !MANAGERS.has(labels[label.managedBy]));
    if (rows.length > 0) kept.push(nackedResource('Mesh', mesh, reasonFor(mesh.name, rows)));
  }
  return kept;
}

/** A Secret without an origin is one that this control plane has made. */
function isOfThisZone(row: ResourceMeta): boolean {
  return !isFromGlobal(row) && (row.type !== 'Secret' || originOf(row.labels) === 'zone');
}

function reasonFor(mesh: string, rows: readonly ResourceMeta[]): string {
  const named = rows.slice(0, MAX_NAMED).map(({ type, name }) => `${type} ${name}`);
  const more = rows.length > MAX_NAMED ? ` and ${String(rows.length - MAX_NAMED)} more` : '';
  return (
    `the zone is no longer a member of mesh ${mesh}, and has resources of its own in it: ${named.join(', ')}${more}. ` +
    'The zone keeps the Mesh until they are deleted, or until the zone is a member again'
  );
}
