import type { JSX } from 'preact';
import { StateMark } from './state-mark.tsx';

/** What the marks of a matrix mean. */
export function Legend({ ok = 'has it', more }: { readonly ok?: string; readonly more: readonly string[] }): JSX.Element {
  return (
    <span class="legend end" aria-hidden="true">
      <StateMark tone="ok" word={ok} />
      <StateMark tone="late" word="waiting" />
      <StateMark tone="bad" word="refused" />
      <StateMark tone="away" word="away" />
      {more.map((text) => (
        <span key={text} class="hole">
          {text}
        </span>
      ))}
    </span>
  );
}
