// One resource: where its newest change is, which zones have it, under which name and by which rule; and its document, to edit.
import { changesOfResource } from '../concerns.ts';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Answer } from '../../../src/answers/answers.ts';
import { Failure } from '../parts/failure.tsx';
import { Editor } from '../parts/editor.tsx';
import { HistoryCard } from '../parts/history-card.tsx';
import { LongTable, type Column } from '../parts/long-table.tsx';
import { RolloutCard } from '../parts/rollout-card.tsx';
import { StateMark } from '../parts/state-mark.tsx';
import { apiPath, typeByPath, type TypeInfo } from '../catalog.ts';
import { deliveryMark } from '../delivery.ts';
import { useLive } from '../live.ts';
import { isUnsettled, type Rollout } from '../receipts.ts';
import { linkTo, place } from '../router.ts';
import { ApiFailure, get } from '../session.ts';
import { NewResource } from '../parts/new-resource.tsx';
import type { PageProps } from './page-list.tsx';

type Explanation = Answer<'SyncExplanation'>;
type Target = Explanation['targets'][number];
/** Only global has a page of each zone: in a zone one row stands for all other zones. */
const ZONE: Column<Target> = {
  title: 'Zone',
  width: 'minmax(90px, 1fr)',
  cell: ({ to }) => (to === 'global' ? to : <a href={linkTo(['zones', to])}>{to}</a>),
};
const COLUMNS: readonly Column<Target>[] = [
  { title: 'State', width: '118px', cell: (target) => <State target={target} /> },
  {
    title: 'Name there',
    width: 'minmax(110px, 2fr)',
    cell: ({ name }) => (
      <span class="mono" title={name ?? ''}>
        {name ?? ''}
      </span>
    ),
  },
  {
    title: 'Rule or reason',
    width: 'minmax(140px, 3fr)',
    cell: (target) => <span title={reasonOf(target)}>{reasonOf(target)}</span>,
  },
];

const ON_GLOBAL = [ZONE, ...COLUMNS];
const IN_ZONE = [{ ...ZONE, cell: ({ to }: Target) => to }, ...COLUMNS];

export function ResourcePage(props: PageProps): JSX.Element {
  const [, path = '', mesh = '', name = ''] = props.parts;
  const { data: type, failure } = useLive(`type ${path}`, [], async () => {
    const found = await typeByPath(path);
    if (found === undefined) throw new ApiFailure(404, `There is no type with the path ${path}`);
    return found;
  });
  return (
    <>
      <div class="head">
        <p class="crumbs">
          <a href={linkTo(['resources'])}>Resources</a> /{' '}
          <a href={linkTo(['resources', path])}>{type?.pluralDisplayName ?? path}</a>
          {mesh !== '-' && ` / ${mesh}`}
        </p>
        <h1>{name === '+' ? `New ${type?.singularDisplayName ?? ''}` : name}</h1>
        {type?.name === 'Dataplane' && name !== '+' && <a href={linkTo(['proxies', mesh, name])}>What is in force</a>}
      </div>
      <Failure of={failure} />
      {type !== undefined &&
        (name === '+' ? (
          <NewResource type={type} />
        ) : (
          <Content key={place.value.join('/')} type={type} mesh={mesh} name={name} mode={props.control.mode} />
        ))}
    </>
  );
}

type ContentProps = {
  readonly type: TypeInfo;
  readonly mesh: string;
  readonly name: string;
  readonly mode: Answer<'Index'>['mode'];
};

function Content({ type, mesh, name, mode }: ContentProps): JSX.Element {
  const path = apiPath(type, mesh, name);
  const [written, setWritten] = useState(0);
  const loadSync = async (signal: AbortSignal): Promise<Explanation> => await get<Explanation>(`${path}/_sync`, signal);
  const concerns = changesOfResource(type.name, mesh, name);
  const { data: sync, failure } = useLive(`sync ${path}`, ['changes', 'zones'], loadSync, { concerns });
  const loadRollout = async (signal: AbortSignal): Promise<Rollout> => await get<Rollout>(`${path}/_rollout`, signal);
  const { data: rollout } = useLive(`rollout ${path}`, ['changes'], loadRollout, { concerns, isUnsettled });
  return (
    <>
      <Failure of={failure} />
      <div class="split even">
        <div class="stack">
          <Editor key={written} type={type} mesh={mesh} name={name} />
          <HistoryCard path={path} concerns={concerns} onWritten={() => setWritten(written + 1)} />
        </div>
        <div class="stack">
          <section class="card" aria-label="Zones">
            <div class="bar">
              <h2>Where it is</h2>
              {sync?.kri !== undefined && <code class="soft end">{sync.kri}</code>}
            </div>
            <LongTable
              label="Zones of the resource"
              rows={sync?.targets ?? []}
              columns={mode === 'global' ? ON_GLOBAL : IN_ZONE}
              keyOf={({ to }) => to}
              none={sync === undefined ? 'Loading' : 'No zone is known'}
              height="44vh"
            />
          </section>
          {rollout?.committedAt !== undefined && <RolloutCard rollout={rollout} title="The newest change" />}
        </div>
      </div>
    </>
  );
}

function State({ target: { isSent, state } }: { readonly target: Target }): JSX.Element {
  const { tone, word } = deliveryMark(isSent, state?.kind);
  return <StateMark tone={tone ?? 'away'} word={word} />;
}

function reasonOf({ reason, needs, problem, state }: Target): string {
  if (problem !== undefined) return problem.message;
  const more = state !== undefined && state.reason !== '' ? state.reason : needs;
  return more === undefined ? reason : `${reason}; ${more}`;
}
