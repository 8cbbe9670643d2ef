// One zone: its streams, what it has not confirmed, what it refuses, and how others reach it.
import type { JSX } from 'preact';
import type { Answer } from '../../../src/answers/answers.ts';
import { Failure } from '../parts/failure.tsx';
import { StateMark } from '../parts/state-mark.tsx';
import { useLive } from '../live.ts';
import { linkTo } from '../router.ts';
import { get } from '../session.ts';
import { clockTime, sinceThen, wireNameWords } from '../words.ts';
import { toneOf, wordOf, zoneOf, type SyncProblem } from '../zones.ts';
import { LagCard } from '../parts/lag-card.tsx';
import { ZoneTypes } from '../parts/zone-types.tsx';
import { ZoneReach } from '../parts/zone-reach.tsx';
import { described } from '../subscription.ts';
import type { PageProps } from './page-list.tsx';

/** What the page reads of a ZoneInsight beside the fields of the schema. */
type Subscription = {
  readonly zoneInstanceId?: string;
  readonly connectTime?: string;
  readonly disconnectTime?: string;
};
type Stream = { readonly globalInstanceId?: string; readonly connectTime?: string };
type Insight = { readonly subscriptions?: readonly Subscription[]; readonly kdsStreams?: Readonly<Record<string, Stream>> };
type Overview = Answer<'ZoneOverview'> & { readonly tokenExpiresAt?: string };

const STREAMS: readonly (readonly [string, string])[] = [
  ['globalToZone', 'from global to the zone'],
  ['zoneToGlobal', 'from the zone to global'],
];

export function ZonePage({ parts: [, name = ''] }: PageProps): JSX.Element {
  const { data, failure } = useLive(`zone ${name}`, ['zones', 'lag'], (signal) =>
    get<Overview>(`/zones/${encodeURIComponent(name)}/_overview`, signal),
  );
  return (
    <>
      <div class="head">
        <p class="crumbs">
          <a href={linkTo([])}>Fleet</a> / zone
        </p>
        <h1>{name}</h1>
        {data !== undefined && <StateMark tone={toneOf(zoneOf(data))} word={wordOf(zoneOf(data))} />}
        {data !== undefined && <span class="soft">{sinceThen(data.sync.since)}</span>}
      </div>
      <Failure of={failure} />
      {data !== undefined && <Content overview={data} />}
    </>
  );
}

function Content({ overview }: { readonly overview: Overview }): JSX.Element {
  const { sync, syncProblems = [], warnings = [], name } = overview;
  return (
    <div class="stack">
      {sync.reason !== '' && <p class={sync.state === 'refused' ? 'note failure' : 'note'}>{sync.reason}</p>}
      {warnings.map((warning) => (
        <p key={warning} class="note">
          {warning}
        </p>
      ))}
      <div class="split even">
        <div class="stack">
          <Refused problems={syncProblems} />
          <ZoneTypes zone={name} />
        </div>
        <div class="stack">
          <Facts overview={overview} />
          <LagCard zone={name} />
          <ZoneReach zone={name} />
        </div>
      </div>
    </div>
  );
}

function Facts({ overview }: { readonly overview: Overview }): JSX.Element {
  const insight = (overview.zoneInsight ?? {}) as Insight;
  const last = described(insight.subscriptions);
  const { version } = zoneOf(overview);
  return (
    <section class="card" aria-label="Connection">
      <div class="bar">
        <h2>Connection</h2>
      </div>
      <dl class="facts body">
        {STREAMS.map(([key, title]) => {
          const stream = insight.kdsStreams?.[key];
          const isOpen = stream?.connectTime !== undefined && overview.sync.connection !== 'offline';
          return <StreamFact key={key} title={`Stream ${title}`} stream={isOpen ? stream : undefined} />;
        })}
        <dt>Instance</dt>
        <dd>{last?.zoneInstanceId ?? 'none has connected'}</dd>
        <dt>Version</dt>
        <dd>{version === '' ? 'unknown' : version}</dd>
        {overview.proxies !== undefined && <ProxyCounts of={overview.proxies} />}
        {overview.tokenExpiresAt !== undefined && (
          <>
            <dt>Token ends</dt>
            <dd>{new Date(overview.tokenExpiresAt).toLocaleDateString('sv-SE')}</dd>
          </>
        )}
        <dt>Connections</dt>
        <dd>
          {(insight.subscriptions ?? [])
            .slice(-3)
            .toReversed()
            .map(({ connectTime, disconnectTime }) => (
              <div key={connectTime}>
                {clockTime(connectTime ?? '')} – {disconnectTime === undefined ? 'now' : clockTime(disconnectTime)}
              </div>
            ))}
        </dd>
      </dl>
    </section>
  );
}

/** Where global keeps no more of the proxies than this. */
function ProxyCounts({
  of: { total, online, partiallyDegraded, offline },
}: {
  readonly of: NonNullable<Overview['proxies']>;
}): JSX.Element {
  const degraded = partiallyDegraded === 0 ? '' : `, ${String(partiallyDegraded)} partially degraded`;
  return (
    <>
      <dt>Proxies</dt>
      <dd>{`${String(total)}: ${String(online)} online${degraded}, ${String(offline)} offline`}</dd>
    </>
  );
}

function StreamFact({ title, stream }: { readonly title: string; readonly stream: Stream | undefined }): JSX.Element {
  return (
    <>
      <dt>{title}</dt>
      <dd>
        {stream === undefined ? (
          <StateMark tone="away" word="not open" />
        ) : (
          <>
            <StateMark tone="ok" word="open" />{' '}
            <span class="soft">
              since {clockTime(stream.connectTime ?? '')}, with <span class="whole">{stream.globalInstanceId ?? 'global'}</span>
            </span>
          </>
        )}
      </dd>
    </>
  );
}

function Refused({ problems }: { readonly problems: readonly SyncProblem[] }): JSX.Element | null {
  if (problems.length === 0) return null;
  return (
    <section class="card" aria-label="Refused and withheld">
      <div class="bar">
        <h2>Refused and withheld</h2>
      </div>
      <ul class="problems scroll" tabIndex={0} aria-label="Refused and withheld resources">
        {problems.map(({ stream, type, kind, resources, count, message }) => (
          <li key={`${stream} ${type} ${kind} ${message}`}>
            <div class="title">
              <StateMark tone="bad" word={`${type} ${kind}`} />
            </div>
            <div class="mono">
              {resources.map(wireNameWords).join(', ')}
              {count > resources.length && ` and ${String(count - resources.length)} more`}
            </div>
            <p>{message}</p>
          </li>
        ))}
      </ul>
    </section>
  );
}
