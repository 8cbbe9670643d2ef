// Removes a resource, after it has shown which zones lose it, which values of proxies change, and what goes with it.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Answer } from '../../../src/answers/answers.ts';
import { apiPath, type TypeInfo } from '../catalog.ts';
import { isHeld } from '../live.ts';
import { previewOf, type Preview } from '../preview.ts';
import { go, linkTo } from '../router.ts';
import { ask, type ApiFailure } from '../session.ts';
import { Failure } from './failure.tsx';
import { DocumentCard, ProxiesCard, takesWords } from './preview-cards.tsx';
import { failureOf } from './text-area.tsx';

type Plan = Answer<'DeleteDryRun'>;
type Props = {
  readonly type: TypeInfo;
  readonly mesh: string;
  readonly name: string;
  readonly etag: string | null;
};
/** The preview is missing for those who may not see one. */
type Asked = { readonly plan: Plan; readonly preview: Preview | undefined };

const NO_DOCUMENT = { text: '', notation: 'json' } as const;

export function Removal({ type, mesh, name, etag }: Props): JSX.Element {
  const [asked, setAsked] = useState<Asked | undefined>();
  const [failure, setFailure] = useState<ApiFailure | undefined>();
  const path = apiPath(type, mesh, name);
  const attempt = (work: () => Promise<void>): void => {
    setFailure(undefined);
    work().catch((error: unknown) => setFailure(failureOf(error)));
  };
  const look = async (): Promise<void> => {
    const { body: plan } = await ask<Plan>(`${path}?dryRun=true`, { method: 'DELETE', ifMatch: etag });
    const deletion = { type: type.name, mesh: type.scope === 'Mesh' ? mesh : '', name };
    setAsked({ plan, preview: await previewOf(NO_DOCUMENT, [deletion]).catch(() => undefined) });
  };
  const remove = async (): Promise<void> => {
    // The event of the removal may come before its answer.
    isHeld.value = true;
    try {
      await ask(path, { method: 'DELETE', ifMatch: etag });
      go(linkTo(['resources', type.path]));
    } finally {
      isHeld.value = false;
    }
  };
  return (
    <>
      <Failure of={failure} />
      {asked?.preview !== undefined && (
        <div class="stack inner" role="status">
          {asked.preview.items.map((item) => (
            <DocumentCard key={item.name} item={{ ...item, takes: [] }} />
          ))}
          <ProxiesCard proxies={asked.preview.proxies} />
        </div>
      )}
      <div class="actions">
        {asked === undefined ? (
          <button type="button" class="plain" onClick={() => attempt(look)}>
            Remove this resource
          </button>
        ) : (
          <>
            <span>{questionOf(asked.plan)}</span>
            <button type="button" onClick={() => attempt(remove)}>
              Remove
            </button>
            <button type="button" class="plain" onClick={() => setAsked(undefined)}>
              Keep
            </button>
          </>
        )}
      </div>
    </>
  );
}

function questionOf({ takes }: Plan): string {
  return `Remove it from all zones that have it?${takes.length === 0 ? '' : ` ${takesWords(takes)}`}`;
}
