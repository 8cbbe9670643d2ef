import type { JSX } from 'preact';
import { loadMeshes } from '../catalog.ts';
import { useLive } from '../live.ts';
import { go, linkTo } from '../router.ts';

type Props = {
  readonly path: string;
  /** Null: the list is shown. `-`: the matrix of a type outside of meshes. */
  readonly mesh: string | null;
  readonly isInMesh: boolean;
};

/** The list of a type, or its matrix with the zones, which is of one mesh. */
export function ViewChooser({ path, mesh, isInMesh }: Props): JSX.Element {
  const { data: meshes = [] } = useLive('meshes', [], loadMeshes);
  const first = isInMesh ? (meshes[0] ?? 'default') : '-';
  return (
    <nav class="views" aria-label="Views">
      <a href={linkTo(['resources', path])} {...(mesh === null && { 'aria-current': 'page' as const })}>
        List
      </a>
      <a href={linkTo(['resources', path, mesh ?? first])} {...(mesh !== null && { 'aria-current': 'page' as const })}>
        By zone
      </a>
      {mesh !== null && isInMesh && meshes.length > 1 && (
        <select
          aria-label="Mesh"
          value={mesh}
          onChange={({ currentTarget }) => go(linkTo(['resources', path, currentTarget.value]))}
        >
          {meshes.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      )}
    </nav>
  );
}
