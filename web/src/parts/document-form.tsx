// A document to edit: a check that stores nothing shows the difference, and then it is stored, unless somebody was faster.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Answer } from '../../../src/api/answers.ts';
import { ApiFailure, ask } from '../session.ts';
import { Diff } from './diff.tsx';
import { Failure } from './failure.tsx';

type Props = {
  readonly text: string;
  /** The version that is edited; null for a new resource. */
  readonly etag: string | null;
  /** Where the document goes. @throws ApiFailure */
  readonly pathOf: (document: unknown) => string;
  readonly onStored: (document: unknown) => void;
  readonly onCancel?: () => void;
};
type DryRun = Answer<'DryRun'>;
/** Of a text: what the check said. */
type Checked = { readonly text: string; readonly outcome: DryRun };

export function DocumentForm({ text, etag, pathOf, onStored, onCancel }: Props): JSX.Element {
  const [draft, setDraft] = useState(text);
  const [checked, setChecked] = useState<Checked | undefined>();
  const [failure, setFailure] = useState<ApiFailure | undefined>();
  const isChecked = checked?.text === draft;
  const attempt = (work: (document: unknown, path: string) => Promise<void>): void => {
    setFailure(undefined);
    Promise.resolve()
      .then(async () => {
        const document = parsed(draft);
        await work(document, pathOf(document));
      })
      .catch((error: unknown) => setFailure(error instanceof ApiFailure ? error : new ApiFailure(0, String(error))));
  };
  const check = (): void => {
    attempt(async (body, path) => {
      const { body: outcome } = await ask<DryRun>(`${path}?dryRun=true`, { method: 'PUT', body, ifMatch: etag });
      setChecked({ text: draft, outcome });
    });
  };
  const store = (): void => {
    attempt(async (body, path) => {
      await ask(path, { method: 'PUT', body, ifMatch: etag });
      onStored(body);
    });
  };
  return (
    <>
      <textarea
        aria-label="Document as JSON"
        spellcheck={false}
        value={draft}
        onInput={({ currentTarget }) => setDraft(currentTarget.value)}
      />
      <Failure of={failure} />
      {isChecked && failure === undefined && <Outcome outcome={checked.outcome} />}
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
        <span class="soft">A check stores nothing and shows the difference.</span>
      </div>
    </>
  );
}

function Outcome({ outcome: { result, diff = [], warnings = [] } }: { readonly outcome: DryRun }): JSX.Element {
  return (
    <div role="status">
      {result === 'unchanged' && <p class="note">It is the same as what is stored.</p>}
      {warnings.map((warning) => (
        <p key={warning} class="note">
          {warning}
        </p>
      ))}
      <Diff changes={diff} />
    </div>
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new ApiFailure(0, `The document is not JSON: ${error instanceof Error ? error.message : ''}`);
  }
}
