// Writes an earlier version again: first what that would change, then the write, unless somebody was faster.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Answer } from '../../../src/answers/answers.ts';
import { ask, type ApiFailure } from '../session.ts';
import { Diff } from './diff.tsx';
import { Failure } from './failure.tsx';
import { failureOf } from './text-area.tsx';

type Done = Answer<'RolledBack'>;
/** What a dry run said, and the ETag of the resource that it compared with. */
type Plan = { readonly done: Done; readonly etag: string | null };
type Props = {
  /** Of the resource in the REST API. */
  readonly path: string;
  readonly version: number;
  /** Of the resource with the listed versions; null after a deletion. */
  readonly etag: string | null;
  readonly onWritten: () => void;
};

/** The status when the resource has another ETag. */
const CONFLICT = 409;

export function Rollback({ path, version, etag, onWritten }: Props): JSX.Element {
  const [plan, setPlan] = useState<Plan | undefined>();
  const [failure, setFailure] = useState<ApiFailure | undefined>();
  const send = (query: string, ifMatch: string | null, then: (done: Done) => void): void => {
    setFailure(undefined);
    ask<Done>(`${path}/_rollback${query}`, { method: 'POST', body: { to: version }, ifMatch }).then(
      ({ body }) => then(body),
      (error: unknown) => {
        const refusal = failureOf(error);
        if (refusal.status === CONFLICT) setPlan(undefined);
        setFailure(refusal);
      },
    );
  };
  const look = (): void => send('?dryRun=true', etag, (done) => setPlan({ done, etag }));
  return (
    <>
      <Failure of={failure} />
      {plan !== undefined && (
        <div role="status" aria-label="What the way back would change">
          {plan.done.result === 'unchanged' ? (
            <p class="note">It is already as in version {version}.</p>
          ) : (
            <>
              <h3 class="gap side">This would be written</h3>
              <Diff changes={plan.done.diff ?? []} />
            </>
          )}
        </div>
      )}
      <div class="actions">
        {plan === undefined || plan.done.result === 'unchanged' ? (
          <button type="button" onClick={look}>
            Go back to version {version}…
          </button>
        ) : (
          <>
            <button type="button" class="main" onClick={() => send('', plan.etag, onWritten)}>
              Write version {version} again
            </button>
            <button type="button" class="plain" onClick={() => setPlan(undefined)}>
              Cancel
            </button>
          </>
        )}
      </div>
    </>
  );
}
