// Writes an earlier version again: first what that would change, then the write, unless somebody was faster.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Answer } from '../../../src/api/answers.ts';
import { ApiFailure, ask } from '../session.ts';
import { Diff } from './diff.tsx';
import { Failure } from './failure.tsx';

type Done = Answer<'RolledBack'>;
type Props = {
  /** Of the resource in the REST API. */
  readonly path: string;
  readonly version: number;
  /** Of the resource with the listed versions; null after a deletion. */
  readonly etag: string | null;
  readonly onWritten: () => void;
};

export function Rollback({ path, version, etag, onWritten }: Props): JSX.Element {
  const [plan, setPlan] = useState<Done | undefined>();
  const [failure, setFailure] = useState<ApiFailure | undefined>();
  const send = (query: string, then: (done: Done) => void): void => {
    setFailure(undefined);
    ask<Done>(`${path}/_rollback${query}`, { method: 'POST', body: { to: version }, ifMatch: etag }).then(
      ({ body }) => then(body),
      (error: unknown) => setFailure(error instanceof ApiFailure ? error : new ApiFailure(0, String(error))),
    );
  };
  return (
    <>
      <Failure of={failure} />
      {plan !== undefined && (
        <div role="status" aria-label="What the way back would change">
          {plan.result === 'unchanged' ? (
            <p class="note">It is already as in version {version}.</p>
          ) : (
            <>
              <h3 class="gap side">This would be written</h3>
              <Diff changes={plan.diff ?? []} />
            </>
          )}
        </div>
      )}
      <div class="actions">
        {plan === undefined || plan.result === 'unchanged' ? (
          <button type="button" onClick={() => send('?dryRun=true', setPlan)}>
            Go back to version {version}…
          </button>
        ) : (
          <>
            <button type="button" class="main" onClick={() => send('', onWritten)}>
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
