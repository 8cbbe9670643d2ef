import type { JSX } from 'preact';
import type { Notation } from '../notation.ts';

const TITLES = [
  ['yaml', 'YAML'],
  ['json', 'JSON'],
] as const;

type Props = {
  readonly chosen: Notation;
  /** Whether there is no form in YAML. */
  readonly lacksYaml?: boolean;
  readonly onChoose: (notation: Notation) => void;
};

export function NotationChooser({ chosen, lacksYaml = false, onChoose }: Props): JSX.Element {
  return (
    <span class="views" role="group" aria-label="Notation">
      {TITLES.map(([name, title]) => (
        <button
          key={name}
          type="button"
          class="plain"
          aria-pressed={name === chosen}
          disabled={name === 'yaml' && lacksYaml}
          onClick={() => onChoose(name)}
        >
          {title}
        </button>
      ))}
    </span>
  );
}
