// The text of documents, with what is wrong in it beside it.
import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { inNotation, notation, type Draft, type Notation } from '../notation.ts';
import { ApiFailure } from '../session.ts';
import { Failure } from './failure.tsx';
import { NotationChooser } from './notation-chooser.tsx';

type Props = {
  readonly label: string;
  readonly draft: Draft;
  readonly onDraft: (draft: Draft) => void;
  readonly failure: ApiFailure | undefined;
  readonly onFailure: (failure: ApiFailure | undefined) => void;
};

export function TextArea({ label, draft, onDraft, failure, onFailure }: Props): JSX.Element {
  const area = useRef<HTMLTextAreaElement>(null);
  const change = (to: Notation): void => {
    if (to === draft.notation) return;
    onFailure(undefined);
    inNotation(draft, to).then(
      (text) => {
        notation.value = to;
        onDraft({ text, notation: to });
      },
      (error: unknown) => onFailure(failureOf(error)),
    );
  };
  return (
    <>
      <div class="above-text">
        <NotationChooser chosen={draft.notation} onChoose={change} />
      </div>
      <textarea
        ref={area}
        aria-label={`${label} as ${draft.notation.toUpperCase()}`}
        aria-invalid={failure !== undefined}
        spellcheck={false}
        value={draft.text}
        onInput={({ currentTarget }) => onDraft({ ...draft, text: currentTarget.value })}
      />
      <Failure of={failure} onLine={(line) => goTo(area.current, line)} />
    </>
  );
}

export function failureOf(error: unknown): ApiFailure {
  return error instanceof ApiFailure ? error : new ApiFailure(0, String(error));
}

/** Selects a line, and brings it into sight. */
function goTo(area: HTMLTextAreaElement | null, line: number): void {
  if (area === null) return;
  const lines = area.value.split('\n');
  const start = lines.slice(0, line - 1).reduce((sum, { length }) => sum + length + 1, 0);
  area.focus();
  area.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
  area.scrollTop = Math.max(0, (area.scrollHeight / lines.length) * (line - 5));
}
