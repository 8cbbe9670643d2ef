import type { JSX } from 'preact';
import type { Notation } from '../notation.ts';

const TITLES = [
  ['yaml', 'YAML'],
  ['json', 'JSON'],
] as const;

type Props = { readonly chosen: Notation; readonly onChoose: (notation: Notation) => void };

export function NotationChooser({ chosen, onChoose }: Props): JSX.Element {
  return (
    <span class="views" role="group" aria-label="Notation">
      {TITLES.map(([name, title]) => (
        <button key={name} type="button" class="plain" aria-pressed={name === chosen} onClick={() => onChoose(name)}>
          {title}
        </button>
      ))}
    </span>
  );
}
