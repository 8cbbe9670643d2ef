// The resources that a preview takes as deleted: a list, and a form that adds one.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { listPath, loadMeshes, loadNames, resourceTypes, type TypeInfo } from '../catalog.ts';
import { useLive } from '../live.ts';
import type { Deletion } from '../preview.ts';
import { subject } from '../receipts.ts';

/** Names that are offered. */
const SIZE = 200;

type Props = { readonly deletions: readonly Deletion[]; readonly onDeletions: (deletions: readonly Deletion[]) => void };

export function Deletions({ deletions, onDeletions }: Props): JSX.Element {
  const add = (one: Deletion): void => onDeletions([...deletions.filter((other) => titleOf(other) !== titleOf(one)), one]);
  return (
    <section class="deletions" aria-label="Deletions">
      <h3>Deletions</h3>
      <ul>
        {deletions.map((one) => (
          <li key={titleOf(one)}>
            <span>{titleOf(one)}</span>
            <button
              type="button"
              class="plain"
              aria-label={`Keep ${titleOf(one)}`}
              onClick={() => onDeletions(deletions.filter((other) => other !== one))}
            >
              Keep
            </button>
          </li>
        ))}
      </ul>
      <DeletionForm onAdd={add} />
    </section>
  );
}

function titleOf({ type, mesh, name }: Deletion): string {
  return subject({ type, name, ...(mesh !== '' && { mesh }) });
}

function DeletionForm({ onAdd }: { readonly onAdd: (deletion: Deletion) => void }): JSX.Element {
  const { data: types = [] } = useLive('types', [], resourceTypes);
  const [chosen, setChosen] = useState('MeshTimeout');
  const { data: meshes = [] } = useLive('meshes', [], loadMeshes);
  const [chosenMesh, setMesh] = useState('');
  const [name, setName] = useState('');
  const type = types.find((one) => one.name === chosen);
  const mesh = type?.scope === 'Global' ? '' : chosenMesh === '' ? (meshes[0] ?? '') : chosenMesh;
  return (
    <form
      class="actions"
      onSubmit={(event) => {
        event.preventDefault();
        onAdd({ type: chosen, mesh, name: name.trim() });
        setName('');
      }}
    >
      <select aria-label="Type" value={chosen} onChange={({ currentTarget }) => setChosen(currentTarget.value)}>
        {types.map((one) => (
          <option key={one.name}>{one.name}</option>
        ))}
      </select>
      {mesh !== '' && (
        <select aria-label="Mesh" value={mesh} onChange={({ currentTarget }) => setMesh(currentTarget.value)}>
          {meshes.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      )}
      <input
        required
        aria-label="Name"
        placeholder="Name"
        list="names-to-delete"
        value={name}
        onInput={({ currentTarget }) => setName(currentTarget.value)}
      />
      {type !== undefined && (mesh !== '' || type.scope === 'Global') && <Names type={type} mesh={mesh} />}
      <button type="submit">Add a deletion</button>
    </form>
  );
}

/** The names that the form offers. */
function Names({ type, mesh }: { readonly type: TypeInfo; readonly mesh: string }): JSX.Element {
  const path = listPath(type, mesh);
  const { data = [] } = useLive(`names ${path}`, [], (signal) => loadNames(path, SIZE, signal));
  return (
    <datalist id="names-to-delete">
      {data.map((name) => (
        <option key={name} value={name} />
      ))}
    </datalist>
  );
}
