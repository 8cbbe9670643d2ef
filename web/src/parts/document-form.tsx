// A document to edit: a check that stores nothing shows the difference and what would change for zones and proxies, and then it is stored.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Answer } from '../../../src/answers/answers.ts';
import type { Draft } from '../notation.ts';
import { previewOf, type Preview } from '../preview.ts';
import type { ApiFailure } from '../session.ts';
import { Diff } from './diff.tsx';
import { DocumentCard, ProxiesCard } from './preview-cards.tsx';
import { failureOf, TextArea } from './text-area.tsx';

export type Outcome = Pick<Answer<'DryRun'>, 'result' | 'diff' | 'warnings'>;

type Props = {
  readonly start: Draft;
  /** Checks the draft, or stores it. @throws ApiFailure */
  readonly send: (draft: Draft, isDryRun: boolean) => Promise<Outcome>;
  readonly onStored: () => void;
  readonly onCancel?: () => void;
};
/** Of a text: what the check said. The preview is missing for who may not see one. */
type Checked = { readonly text: string; readonly outcome: Outcome; readonly preview: Preview | undefined };

export function DocumentForm({ start, send, onStored, onCancel }: Props): JSX.Element {
  const [draft, setDraft] = useState(start);
  const [checked, setChecked] = useState<Checked | undefined>();
  const [failure, setFailure] = useState<ApiFailure | undefined>();
  const isChecked = checked?.text === draft.text;
  const attempt = (work: () => Promise<void>): void => {
    setFailure(undefined);
    work().catch((error: unknown) => setFailure(failureOf(error)));
  };
  const check = (): void => {
    attempt(async () => {
      const outcome = await send(draft, true);
      const preview = outcome.result === 'unchanged' ? undefined : await previewOf(draft, []).catch(() => undefined);
      setChecked({ text: draft.text, outcome, preview });
    });
  };
  const store = (): void => {
    attempt(async () => {
      await send(draft, false);
      onStored();
    });
  };
  return (
    <>
      <TextArea label="Document" draft={draft} onDraft={setDraft} failure={failure} onFailure={setFailure} />
      {isChecked && failure === undefined && <Outcome checked={checked} />}
      <div class="actions">
        <button type="button" class={isChecked ? '' : 'main'} onClick={check}>
          Check
        </button>
        <button type="button" class="main" disabled={!isChecked || checked.outcome.result === 'unchanged'} onClick={store}>
          Apply
        </button>
        {onCancel !== undefined && (
          <button type="button" class="plain" onClick={onCancel}>
            Cancel
          </button>
        )}
        <span class="soft">A check stores nothing: it shows the difference, zones and proxies.</span>
      </div>
    </>
  );
}

function Outcome({ checked: { outcome, preview } }: { readonly checked: Checked }): JSX.Element {
  const { result, diff = [], warnings = [] } = outcome;
  return (
    <div role="status">
      {result === 'unchanged' && <p class="note">It is the same as what is stored.</p>}
      {warnings.map((warning) => (
        <p key={warning} class="note">
          {warning}
        </p>
      ))}
      <Diff changes={diff} />
      {preview !== undefined && (
        <div class="stack inner">
          {preview.items.map((item) => (
            <DocumentCard key={item.name} item={{ ...item, diff: [], warnings: [] }} />
          ))}
          <ProxiesCard proxies={preview.proxies} />
        </div>
      )}
    </div>
  );
}
