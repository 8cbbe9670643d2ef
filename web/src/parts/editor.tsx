// The document of a resource as it is stored, and the form that changes it.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { TypeInfo } from '../catalog.ts';
import { useLive } from '../live.ts';
import { ask, type Reply } from '../session.ts';
import { linkTo, go } from '../router.ts';
import { ApiFailure } from '../session.ts';
import { DocumentForm } from './document-form.tsx';
import { Failure } from './failure.tsx';

type Document = Readonly<Record<string, unknown>>;

/** What the control plane adds, and takes from nobody. */
const ADDED = new Set(['creationTime', 'modificationTime', 'kri', 'status']);

export function Editor({ type, path }: { readonly type: TypeInfo; readonly path: string }): JSX.Element {
  const { data, failure, reload } = useLive<Reply<Document>>(`document ${path}`, ['changes', 'clock'], (signal) =>
    ask<Document>(path, { signal }),
  );
  const [edited, setEdited] = useState<Reply<Document> | null>(null);
  const shown = edited ?? data;
  const isOverdue = edited !== null && data !== undefined && data.etag !== edited.etag;
  return (
    <section class="card editor" aria-label="Document">
      <div class="bar">
        <h2>Document</h2>
        {shown?.etag !== undefined && shown.etag !== null && <span class="soft">version {shown.etag.replaceAll('"', '')}</span>}
        <span class="end">
          {edited === null && data !== undefined && (
            <button type="button" onClick={() => setEdited(data)}>
              Edit
            </button>
          )}
        </span>
      </div>
      <Failure of={failure} />
      {isOverdue && <p class="note">Somebody else has changed it: it is now version {data.etag?.replaceAll('"', '')}.</p>}
      {shown !== undefined && edited === null && (
        <pre class="diff scroll" tabIndex={0} aria-label="Stored document">
          {textOf(shown.body)}
        </pre>
      )}
      {edited !== null && (
        <>
          <DocumentForm
            text={textOf(edited.body)}
            etag={edited.etag}
            pathOf={() => path}
            onCancel={() => setEdited(null)}
            onStored={() => {
              setEdited(null);
              reload();
            }}
          />
          <Removal type={type} path={path} etag={edited.etag} />
        </>
      )}
    </section>
  );
}

function textOf(document: Document): string {
  return JSON.stringify(Object.fromEntries(Object.entries(document).filter(([key]) => !ADDED.has(key))), null, 2);
}

function Removal({
  type,
  path,
  etag,
}: {
  readonly type: TypeInfo;
  readonly path: string;
  readonly etag: string | null;
}): JSX.Element {
  const [isAsking, setAsking] = useState(false);
  const [failure, setFailure] = useState<ApiFailure | undefined>();
  const remove = (): void => {
    ask(path, { method: 'DELETE', ifMatch: etag }).then(
      () => go(linkTo(['resources', type.path])),
      (error: unknown) => setFailure(error instanceof ApiFailure ? error : new ApiFailure(0, String(error))),
    );
  };
  return (
    <>
      <Failure of={failure} />
      <div class="actions">
        {isAsking ? (
          <>
            <span>Remove it from all zones that have it?</span>
            <button type="button" onClick={remove}>
              Remove
            </button>
            <button type="button" class="plain" onClick={() => setAsking(false)}>
              Keep
            </button>
          </>
        ) : (
          <button type="button" class="plain" onClick={() => setAsking(true)}>
            Remove this resource
          </button>
        )}
      </div>
    </>
  );
}
