import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { apiPath, type TypeInfo } from '../catalog.ts';
import { DocumentForm } from './document-form.tsx';
import { Failure } from './failure.tsx';
import { ApiFailure } from '../session.ts';
import { go, linkTo } from '../router.ts';
import { placeOf } from '../catalog.ts';

type Named = { readonly name?: unknown; readonly mesh?: unknown };

/** A document that is not stored yet. Its name and mesh say where it goes. */
export function NewResource({ type }: { readonly type: TypeInfo }): JSX.Element {
  const [failure, setFailure] = useState<ApiFailure | undefined>();
  const isInMesh = type.scope === 'Mesh';
  const start = { type: type.name, ...(isInMesh && { mesh: 'default' }), name: '', spec: {} };
  const namesOf = (document: unknown): { mesh: string; name: string } => {
    const { name, mesh = '' } = document as Named;
    if (typeof name !== 'string' || name === '') throw new ApiFailure(0, 'name: must be given');
    if (isInMesh && (typeof mesh !== 'string' || mesh === '')) throw new ApiFailure(0, 'mesh: must be given');
    return { name, mesh: String(mesh) };
  };
  return (
    <section class="card editor" aria-label="Document">
      <Failure of={failure} />
      <DocumentForm
        text={JSON.stringify(start, null, 2)}
        etag={null}
        pathOf={(document) => {
          setFailure(undefined);
          const { mesh, name } = namesOf(document);
          return apiPath(type, mesh, name);
        }}
        onStored={(document) => {
          const { mesh, name } = namesOf(document);
          go(linkTo(placeOf(type.path, mesh, name)));
        }}
      />
    </section>
  );
}
