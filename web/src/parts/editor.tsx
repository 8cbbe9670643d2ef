// The document of a resource as it is stored, and the form that changes it.
import { changesOfResource } from '../concerns.ts';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { apiPath, type TypeInfo } from '../catalog.ts';
import { useLive } from '../live.ts';
import { bodyOf, loadDocument, notation, versionOf, type Draft, type Stored } from '../notation.ts';
import { ask } from '../session.ts';
import { DocumentForm, type Outcome } from './document-form.tsx';
import { Failure } from './failure.tsx';
import { NotationChooser } from './notation-chooser.tsx';
import { Removal } from './removal.tsx';

type Props = { readonly type: TypeInfo; readonly mesh: string; readonly name: string };

export function Editor({ type, mesh, name }: Props): JSX.Element {
  const path = apiPath(type, mesh, name);
  const load = (signal: AbortSignal): Promise<Stored> => loadDocument(path, signal);
  const concerns = changesOfResource(type.name, mesh, name);
  const { data, failure, reload } = useLive(`document ${path}`, ['changes', 'clock'], load, { concerns });
  const [edited, setEdited] = useState<Stored | null>(null);
  const shown = edited ?? data;
  const as = shown?.texts.yaml === undefined ? 'json' : notation.value;
  const isOverdue = edited !== null && data !== undefined && data.etag !== edited.etag;
  const send = async (draft: Draft, isDryRun: boolean): Promise<Outcome> => {
    const sending = { method: 'PUT', text: bodyOf(draft), ifMatch: edited?.etag ?? null } as const;
    return (await ask<Outcome>(path + (isDryRun ? '?dryRun=true' : ''), sending)).body;
  };
  return (
    <section class="card editor" aria-label="Document">
      <div class="bar">
        <h2>Document</h2>
        {shown !== undefined && shown.etag !== null && <span class="soft">version {versionOf(shown.etag)}</span>}
        {edited === null && data !== undefined && (
          <span class="end">
            <NotationChooser
              chosen={as}
              lacksYaml={data.texts.yaml === undefined}
              onChoose={(chosen) => (notation.value = chosen)}
            />
            <button type="button" onClick={() => setEdited(data)}>
              Edit
            </button>
          </span>
        )}
      </div>
      <Failure of={failure} />
      {isOverdue && <p class="note">Somebody else has changed it: it is now version {versionOf(data.etag)}.</p>}
      {shown?.whyNoYaml !== undefined && <p class="note">It is shown as JSON, not as YAML: {shown.whyNoYaml}.</p>}
      {shown !== undefined && edited === null && (
        <pre class="diff scroll" tabIndex={0} aria-label="Stored document">
          {shown.texts[as]}
        </pre>
      )}
      {edited !== null && (
        <>
          <DocumentForm
            start={{ text: edited.texts[as] ?? '', notation: as }}
            send={send}
            onCancel={() => setEdited(null)}
            onStored={() => {
              setEdited(null);
              reload();
            }}
          />
          <Removal type={type} mesh={mesh} name={name} etag={edited.etag} />
        </>
      )}
    </section>
  );
}
