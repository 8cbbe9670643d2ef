// What if: documents that are not stored and resources that are not deleted, which zones would get or lose them, and which values would
// change for which proxies.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Draft } from '../notation.ts';
import { Deletions } from '../parts/deletions.tsx';
import { DocumentCard, ProxiesCard } from '../parts/preview-cards.tsx';
import { failureOf, TextArea } from '../parts/text-area.tsx';
import { addressOf, deletionsIn, previewOf, type Preview } from '../preview.ts';
import { query, setQuery } from '../router.ts';
import type { ApiFailure } from '../session.ts';

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

/** Names the deletions in the address. */
const DELETE = 'delete';

export function PreviewPage(): JSX.Element {
  const address = query.value.get(DELETE) ?? '';
  const deletions = deletionsIn(address);
  const [draft, setDraft] = useState<Draft>({ text: deletions.length === 0 ? START : '', notation: 'yaml' });
  const [found, setFound] = useState<{ readonly of: string; readonly preview: Preview } | undefined>();
  const [failure, setFailure] = useState<ApiFailure | undefined>();
  const asked = `${address}\n${draft.text}`;
  const look = (): void => {
    setFailure(undefined);
    previewOf(draft, deletions).then(
      (preview) => setFound({ of: asked, preview }),
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
        <span class="soft">
          Documents that are not stored and deletions that are not made: which zones would get or lose them, and what would change
        </span>
      </div>
      <div class="split even">
        <section class="card editor" aria-label="Documents">
          <TextArea label="Documents" draft={draft} onDraft={setDraft} failure={failure} onFailure={setFailure} />
          <Deletions
            deletions={deletions}
            onDeletions={(changed) => {
              setFailure(undefined);
              setQuery(DELETE, addressOf(changed));
            }}
          />
          <div class="actions">
            <button type="button" class="main" onClick={look}>
              Show what would change
            </button>
            <span class="soft">Nothing is stored.</span>
          </div>
        </section>
        <div class="stack" role="status">
          {(found === undefined || found.of !== asked) && (
            <section class="card" aria-label="Result">
              <p class="none">The zones and the proxies that would change appear here</p>
            </section>
          )}
          {found !== undefined && found.of === asked && (
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
