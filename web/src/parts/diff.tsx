import type { JSX } from 'preact';
import type { Answer } from '../../../src/answers/answers.ts';

type Change = Answer<'Change'>;

const MARKS = { add: '+', remove: '−', replace: '~' } as const;
const TONES = { add: 'ok', remove: 'bad', replace: 'late' } as const;

/** The difference that a write would make, a path each. */
export function Diff({ changes }: { readonly changes: readonly Change[] }): JSX.Element | null {
  if (changes.length === 0) return null;
  return (
    <pre class="diff" aria-label="Difference">
      {changes.map(({ op, path, value }) => (
        <div key={`${op} ${path}`}>
          <span class={TONES[op]}>
            {MARKS[op]} {path === '' ? 'the resource' : path.slice(1).replaceAll('/', '.')}
          </span>
          {value !== undefined && `: ${JSON.stringify(value, null, 2)}`}
        </div>
      ))}
    </pre>
  );
}
