// Removes a resource, after saying what goes with it.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Answer } from '../../../src/api/answers.ts';
import type { TypeInfo } from '../catalog.ts';
import { go, linkTo } from '../router.ts';
import { ask, type ApiFailure } from '../session.ts';
import { counted } from '../words.ts';
import { Failure } from './failure.tsx';
import { failureOf } from './text-area.tsx';

type Plan = Answer<'DeleteDryRun'>;
type Props = { readonly type: TypeInfo; readonly path: string; readonly etag: string | null };

export function Removal({ type, path, etag }: Props): JSX.Element {
  const [plan, setPlan] = useState<Plan | undefined>();
  const [failure, setFailure] = useState<ApiFailure | undefined>();
  const send = (query: string, then: (plan: Plan) => void): void => {
    setFailure(undefined);
    ask<Plan>(path + query, { method: 'DELETE', ifMatch: etag }).then(
      ({ body }) => then(body),
      (error: unknown) => setFailure(failureOf(error)),
    );
  };
  return (
    <>
      <Failure of={failure} />
      <div class="actions">
        {plan === undefined ? (
          <button type="button" class="plain" onClick={() => send('?dryRun=true', setPlan)}>
            Remove this resource
          </button>
        ) : (
          <>
            <span>{`Remove it from all zones that have it?${alsoWords(plan)}`}</span>
            <button type="button" onClick={() => send('', () => go(linkTo(['resources', type.path])))}>
              Remove
            </button>
            <button type="button" class="plain" onClick={() => setPlan(undefined)}>
              Keep
            </button>
          </>
        )}
      </div>
    </>
  );
}

function alsoWords({ takes }: Plan): string {
  const all = takes.map(({ type, total }) => counted(total, type, type));
  return all.length === 0 ? '' : ` With it go ${all.join(', ')}.`;
}
