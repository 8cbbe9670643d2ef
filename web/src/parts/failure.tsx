import type { JSX } from 'preact';
import type { ApiFailure } from '../session.ts';

type Props = {
  readonly of: ApiFailure | undefined;
  /** Goes to a line of the document that was sent. */
  readonly onLine?: (line: number) => void;
};

/** What went wrong, with the fields at fault. */
export function Failure({ of, onLine }: Props): JSX.Element | null {
  if (of === undefined) return null;
  const { message, violations } = of;
  return (
    <div class="note failure" role="alert">
      {violations.length === 0 ? message : 'The control plane refuses it:'}
      {violations.length > 0 && (
        <ul>
          {violations.map(({ field, reason, line }) => (
            <li key={`${field} ${reason}`}>
              {line !== undefined && onLine !== undefined && (
                <button type="button" class="plain" onClick={() => onLine(line)}>
                  line {line}
                </button>
              )}
              {field !== '' && (
                <>
                  <code>{field}</code>:{' '}
                </>
              )}
              {reason}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
