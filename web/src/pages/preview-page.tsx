// What if: documents that are not stored, which zones would get them, and which values would change for which proxies.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Answer } from '../../../src/api/answers.ts';
import { listOf, type Draft } from '../notation.ts';
import { DocumentCard, ProxiesCard } from '../parts/preview-cards.tsx';
import { failureOf, TextArea } from '../parts/text-area.tsx';
import { ask, type ApiFailure } from '../session.ts';

type Preview = Answer<'Preview'>;

const START = `type: MeshTimeout
mesh: default
name: tried
spec:
  to:
    - targetRef:
        kind: Mesh
      default:
        connectionTimeout: 3s
`;

export function PreviewPage(): JSX.Element {
  const [draft, setDraft] = useState<Draft>({ text: START, notation: 'yaml' });
  const [found, setFound] = useState<{ readonly text: string; readonly preview: Preview } | undefined>();
  const [failure, setFailure] = useState<ApiFailure | undefined>();
  const look = (): void => {
    setFailure(undefined);
    ask<Preview>('/_preview', { method: 'POST', text: listOf(draft) }).then(
      ({ body: preview }) => setFound({ text: draft.text, preview }),
      (error: unknown) => {
        setFound(undefined);
        setFailure(failureOf(error));
      },
    );
  };
  return (
    <>
      <div class="head">
        <h1>What if</h1>
        <span class="soft">Documents that are not stored: who would get them, and what would change</span>
      </div>
      <div class="split even">
        <section class="card editor" aria-label="Documents">
          <TextArea label="Documents" draft={draft} onDraft={setDraft} failure={failure} onFailure={setFailure} />
          <div class="actions">
            <button type="button" class="main" onClick={look}>
              Show what would change
            </button>
            <span class="soft">Nothing is stored.</span>
          </div>
        </section>
        <div class="stack" role="status">
          {found !== undefined && found.text === draft.text && (
            <>
              {found.preview.items.map((item) => (
                <DocumentCard key={`${item.type} ${item.mesh ?? ''} ${item.name}`} item={item} />
              ))}
              <ProxiesCard proxies={found.preview.proxies} />
            </>
          )}
        </div>
      </div>
    </>
  );
}
