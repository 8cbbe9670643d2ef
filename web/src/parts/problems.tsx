// What needs a person, with what to do.
import type { JSX } from 'preact';
import { toneOfProblem, useProblems, type Problem } from '../problems.ts';
import { linkTo } from '../router.ts';
import { ago, wireNameWords } from '../words.ts';
import { Failure } from './failure.tsx';
import { Mark } from './state-mark.tsx';

type Props = {
  /** More are on the page of the health. */
  readonly max: number;
};

export function Problems({ max }: Props): JSX.Element {
  const { data: problems, failure } = useProblems();
  const { total, items } = problems ?? { total: 0, items: [] };
  return (
    <section class="card" aria-label="Problems">
      <div class="bar">
        <h2>Problems</h2>
        <span class="soft end">{total > 0 && total.toLocaleString('en')}</span>
      </div>
      <Failure of={failure} />
      {total === 0 && problems !== undefined && <p class="none">Nothing needs attention</p>}
      {total > 0 && (
        <ul class="problems scroll" tabIndex={0} aria-label="Problems with what to do">
          {items.slice(0, max).map((problem) => (
            <Item key={problem.id} problem={problem} />
          ))}
          {total > max && (
            <li>
              <a href={linkTo(['health'])}>All {total.toLocaleString('en')}</a>
            </li>
          )}
        </ul>
      )}
    </section>
  );
}

const REFUSALS: Readonly<Record<string, string>> = {
  resourcesRefused: 'refuses',
  resourcesSuspected: 'may refuse',
  resourcesWithheld: 'cannot read',
};

function Item({ problem }: { readonly problem: Problem }): JSX.Element {
  const { zone, instanceId, message, remedy, runbook, since, resources = [], code, type } = problem;
  const kind = type === undefined ? undefined : REFUSALS[code];
  return (
    <li>
      <div class="title">
        <Mark tone={toneOfProblem(problem)} />
        {zone === undefined ? (instanceId ?? titleOf(code)) : <a href={linkTo(['zones', zone])}>{zone}</a>}
        {kind !== undefined && <span class="kind">{`${kind} ${type ?? ''}`}</span>}
        <span class="soft when" title={since ?? ''}>
          {ago(since)}
        </span>
      </div>
      <p class="ink">{message}</p>
      {resources.length > 0 && !message.includes(resources[0] ?? '') && (
        <div class="mono">{resources.map(wireNameWords).join(', ')}</div>
      )}
      <p>
        {remedy} (<code>{runbook}</code>)
      </p>
    </li>
  );
}

/** `certificateEnds` → `Certificate ends` */
function titleOf(code: string): string {
  const words = code.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}
