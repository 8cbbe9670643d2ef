// States as a colour, a form and a word, so that a person needs no colour to read them.
import type { JSX } from 'preact';

export type Tone = 'ok' | 'late' | 'bad' | 'away';

const FORMS: Readonly<Record<Tone, JSX.Element>> = {
  ok: <circle cx="6" cy="6" r="4.5" fill="currentColor" />,
  late: <path d="M6 1 11.2 10.5H.8Z" fill="currentColor" />,
  bad: <path d="M1.5 1.5h9v9h-9z" fill="currentColor" />,
  away: <circle cx="6" cy="6" r="4" fill="none" stroke="currentColor" stroke-width="2" />,
};

export function Mark({ tone }: { readonly tone: Tone }): JSX.Element {
  return (
    <svg class={tone} width="12" height="12" viewBox="0 0 12 12" aria-hidden="true">
      {FORMS[tone]}
    </svg>
  );
}

export function StateMark({ tone, word }: { readonly tone: Tone; readonly word: string }): JSX.Element {
  return (
    <span class="state">
      <Mark tone={tone} />
      {word}
    </span>
  );
}
