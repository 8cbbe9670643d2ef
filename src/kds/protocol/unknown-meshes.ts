// Meshes that a peer has and this side never had, as after the restore of a global from an old backup. Their removal is held back: it
// would delete all resources of the mesh. Pure.
import { splitWireName } from './wire-name.ts';

const NONE: ReadonlyMap<string, string> = new Map();

/** The mesh of a resource, or of a Mesh itself; null for a resource without a mesh. @param wireName `<name>.<mesh>` */
function meshOf(type: string, wireName: string): string | null {
  const { name, mesh } = splitWireName(wireName);
  const found = type === 'Mesh' ? name : mesh;
  return found === '' ? null : found;
}

/** The meshes of the resources that a peer reports. */
export function meshesIn(type: string, known: Iterable<string>): Set<string> {
  const meshes = new Set<string>();
  for (const wireName of known) {
    const mesh = meshOf(type, wireName);
    if (mesh !== null) meshes.add(mesh);
  }
  return meshes;
}

/**
 * One resource of each mesh, for a request that cannot name all: the peer then says which of the meshes it never had.
 * @param versions the versions of all resources
 */
export function oneOfEachMesh(type: string, versions: ReadonlyMap<string, string>): Map<string, string> {
  const meshes = new Set<string>();
  const named = new Map<string, string>();
  for (const [wireName, version] of versions) {
    const mesh = meshOf(type, wireName);
    if (mesh === null || meshes.has(mesh)) continue;
    meshes.add(mesh);
    named.set(wireName, version);
  }
  return named;
}

/** Divides the peer's resources: those of known meshes, and those of unknown meshes with the reason why they stay. */
export function holdUnknown(
  type: string,
  known: ReadonlyMap<string, string>,
  unknown: ReadonlySet<string>,
): { readonly known: ReadonlyMap<string, string>; readonly held: ReadonlyMap<string, string> } {
  if (unknown.size === 0) return { known, held: NONE };
  const others = new Map<string, string>();
  const held = new Map<string, string>();
  for (const [wireName, version] of known) {
    const mesh = meshOf(type, wireName);
    if (mesh !== null && unknown.has(mesh)) held.set(wireName, reasonFor(mesh));
    else others.set(wireName, version);
  }
  return { known: others, held };
}

function reasonFor(mesh: string): string {
  return (
    `the zone has mesh ${JSON.stringify(mesh)}, and this global has never had it: was it restored from an old backup? Nothing of the mesh ` +
    'is removed from the zone. To keep the mesh, create it and its resources on global. To remove it from the zones, create it and delete it'
  );
}
