// The versions of a resource: who wrote which, what changed between two of them, and the way back.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Answer } from '../../../src/answers/answers.ts';
import { useLive, type Loading } from '../live.ts';
import { get } from '../session.ts';
import { clockTime, counted } from '../words.ts';
import { Diff } from './diff.tsx';
import { Failure } from './failure.tsx';
import { Rollback } from './rollback.tsx';

type History = Answer<'History'>;
type Item = History['items'][number];

const SIZE = 20;

const VIA: Readonly<Record<Item['via'], string>> = {
  api: '',
  database: 'in the database',
  'control-plane': 'the control plane',
  unknown: 'unknown',
};

type Props = {
  /** Of the resource in the REST API. */
  readonly path: string;
  /** Events of the resource. */
  readonly concerns: NonNullable<Loading<History>['concerns']>;
  /** A version was written again. */
  readonly onWritten: () => void;
};

export function HistoryCard({ path, concerns, onWritten }: Props): JSX.Element {
  const [chosen, setChosen] = useState<{ readonly from?: number; readonly to?: number }>({});
  const load = (signal: AbortSignal): Promise<History> => get<History>(`${path}/_history?size=${String(SIZE)}`, signal);
  const { data, failure, reload } = useLive(`history ${path}`, ['changes', 'clock'], load, { concerns });
  const items = data?.items ?? [];
  const to = chosen.to ?? items[0]?.version;
  const from = chosen.from ?? items.find(({ version }) => version < (to ?? 0))?.version;
  return (
    <section class="card" aria-label="History">
      <div class="bar">
        <h2>History</h2>
        {data !== undefined && <span class="soft end">{keptWords(data)}</span>}
      </div>
      <Failure of={failure} />
      {data?.home !== undefined && (
        <p class="note">
          It was written on {data.home === 'global' ? 'global' : `zone ${data.home}`}: who wrote it is known there.
        </p>
      )}
      {items.length > 0 && (
        <Versions
          items={items}
          from={from}
          to={to}
          onFrom={(version) => setChosen({ ...chosen, from: version })}
          onTo={(version) => setChosen({ ...chosen, to: version })}
        />
      )}
      {from !== undefined && to !== undefined && from !== to && <Comparison path={path} from={from} to={to} />}
      {data !== undefined && from !== undefined && data.home === undefined && from !== items[0]?.version && (
        <Rollback
          key={from}
          path={path}
          version={from}
          etag={data.etag ?? null}
          onWritten={() => {
            setChosen({});
            reload();
            onWritten();
          }}
        />
      )}
    </section>
  );
}

function keptWords({ items, next }: History): string {
  return next === null ? counted(items.length, 'version') : `the last ${String(items.length)} versions`;
}

type VersionsProps = {
  readonly items: readonly Item[];
  readonly from: number | undefined;
  readonly to: number | undefined;
  readonly onFrom: (version: number) => void;
  readonly onTo: (version: number) => void;
};

function Versions({ items, from, to, onFrom, onTo }: VersionsProps): JSX.Element {
  return (
    <table class="plain lines" aria-label="Versions">
      <thead>
        <tr>
          <th>From</th>
          <th>To</th>
          <th>Version</th>
          <th>Written</th>
          <th>By</th>
          <th>What</th>
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          <tr key={item.version}>
            <td>
              <Choice name="from" item={item} chosen={from} onChoose={onFrom} />
            </td>
            <td>
              <Choice name="to" item={item} chosen={to} onChoose={onTo} />
            </td>
            <td>{item.version}</td>
            <td>{clockTime(item.time)}</td>
            <td>{item.by === undefined ? <span class="soft">{VIA[item.via]}</span> : authorOf(item)}</td>
            <td>{whatOf(item)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

type ChoiceProps = {
  readonly name: 'from' | 'to';
  readonly item: Item;
  readonly chosen: number | undefined;
  readonly onChoose: (version: number) => void;
};

function Choice({ name, item: { version }, chosen, onChoose }: ChoiceProps): JSX.Element {
  return (
    <input
      type="radio"
      name={`history-${name}`}
      aria-label={`${name} version ${String(version)}`}
      checked={version === chosen}
      onChange={() => onChoose(version)}
    />
  );
}

function authorOf({ by = '', via }: Item): string {
  return [by.replace(/^mesh-system:/, ''), VIA[via]].filter((part) => part !== '').join(', ');
}

function whatOf({ action, restored, changed = [], changes = 0, isHidden }: Item): string {
  if (restored !== undefined) return `version ${String(restored)} again`;
  if (isHidden === true || action !== 'updated' || changed.length === 0) return action;
  const named = changed.slice(0, 2).map((path) => path.slice(1).replaceAll('/', '.'));
  return named.join(', ') + (changes > 2 ? ` and ${String(changes - 2)} more` : '');
}

function Comparison({ path, from, to }: { readonly path: string; readonly from: number; readonly to: number }): JSX.Element {
  const { data, failure } = useLive(`compare ${path} ${String(from)} ${String(to)}`, [], (signal) =>
    get<Answer<'Version'>>(`${path}/_history/${String(to)}?from=${String(from)}`, signal),
  );
  return (
    <>
      <h3 class="gap side">{`From version ${String(from)} to ${String(to)}`}</h3>
      <Failure of={failure} />
      {data?.diff?.length === 0 && <p class="soft side">They are the same.</p>}
      <Diff changes={data?.diff ?? []} />
    </>
  );
}
