import type { JSX } from 'preact';
import type { ApiFailure } from '../session.ts';

/** What went wrong, with the fields at fault. */
export function Failure({ of }: { readonly of: ApiFailure | undefined }): JSX.Element | null {
  if (of === undefined) return null;
  const { message, violations } = of;
  return (
    <div class="note failure" role="alert">
      {violations.length === 0 ? message : 'The control plane refuses it:'}
      {violations.length > 0 && (
        <ul>
          {violations.map(({ field, reason }) => (
            <li key={`${field} ${reason}`}>
              <code>{field}</code>: {reason}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
