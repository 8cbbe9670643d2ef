// What needs a person, beside the fleet.
import type { JSX } from 'preact';
import { linkTo } from '../router.ts';
import { problemText, toneOf, type Zone } from '../zones.ts';
import { Mark, type Tone } from './state-mark.tsx';

/** A page with more would not be read. */
const MAX_SHOWN = 100;

type Problem = { readonly zone: string; readonly tone: Tone; readonly text: string };

export function Problems({ zones, isLoaded }: { readonly zones: readonly Zone[]; readonly isLoaded: boolean }): JSX.Element {
  const all = zones.flatMap(problemsOf);
  return (
    <section class="card" aria-label="Problems">
      <div class="bar">
        <h2>Problems</h2>
        <span class="soft end">{all.length > 0 && all.length.toLocaleString('en')}</span>
      </div>
      {all.length === 0 && isLoaded && <p class="none">Nothing needs attention</p>}
      <ul class="problems scroll" tabIndex={0} aria-label="Problems of zones">
        {all.slice(0, MAX_SHOWN).map(({ zone, tone, text }) => (
          <li key={`${zone} ${text}`}>
            <div class="title">
              <Mark tone={tone} />
              <a href={linkTo(['zones', zone])}>{zone}</a>
            </div>
            <p>{text}</p>
          </li>
        ))}
        {all.length > MAX_SHOWN && <li class="soft">and {(all.length - MAX_SHOWN).toLocaleString('en')} more, in the list</li>}
      </ul>
    </section>
  );
}

function problemsOf(zone: Zone): Problem[] {
  const { name, reason, problems, warnings } = zone;
  const state = reason === '' ? [] : [{ zone: name, tone: toneOf({ ...zone, problems: [] }), text: reason }];
  const refused = problems.map((problem) => ({ zone: name, tone: 'bad' as const, text: problemText(problem) }));
  return [...state, ...refused, ...warnings.map((text) => ({ zone: name, tone: 'late' as const, text }))];
}
