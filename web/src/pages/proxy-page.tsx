// One proxy: each value that is in force, with the policy that set it, and the policies that match and lost.
import type { JSX } from 'preact';
import type { Answer } from '../../../src/answers/answers.ts';
import { Failure } from '../parts/failure.tsx';
import { FilterField } from '../parts/filter-field.tsx';
import { ConfTable } from '../parts/conf-table.tsx';
import { StateMark } from '../parts/state-mark.tsx';
import { placeOf, resourceTypes } from '../catalog.ts';
import { sectionsOf, type Effective } from '../effective.ts';
import { useLive } from '../live.ts';
import { losersOf, type Rules } from '../losers.ts';
import { proxyState } from '../proxies.ts';
import { linkTo, query } from '../router.ts';
import { get } from '../session.ts';
import type { PageProps } from './page-list.tsx';

type Overview = Answer<'DataplaneOverview'>;

export function ProxyPage({ parts: [, mesh = '', name = ''] }: PageProps): JSX.Element {
  const path = `/meshes/${encodeURIComponent(mesh)}/dataplanes/${encodeURIComponent(name)}`;
  const { data, failure } = useLive(`effective ${path}`, ['changes', 'clock'], (signal) =>
    get<Effective>(`${path}/_effective?size=200`, signal),
  );
  const { data: rules } = useLive(`rules ${path}`, ['changes', 'clock'], (signal) => get<Rules>(`${path}/_rules`, signal));
  const { data: overview } = useLive(`proxy ${path}`, ['clock'], (signal) => get<Overview>(`${path}/_overview`, signal));
  const labels = data?.dataplane.labels ?? {};
  return (
    <>
      <div class="head">
        <p class="crumbs">
          <a href={linkTo(['proxies'])}>Proxies</a> / {mesh}
          {labels['kuma.io/zone'] !== undefined && (
            <>
              {' '}
              / zone <a href={linkTo(['zones', labels['kuma.io/zone']])}>{labels['kuma.io/zone']}</a>
            </>
          )}
        </p>
        <h1>{labels['kuma.io/display-name'] ?? name}</h1>
        {overview !== undefined && <StateMark {...proxyState(overview)} />}
        <a href={linkTo(['resources', 'dataplanes', mesh, name])}>Document</a>
        <div class="end">
          <FilterField label="Filter by policy, destination or field" />
        </div>
      </div>
      <Failure of={failure} />
      {overview?.insightUnknown !== undefined && <p class="note">{overview.insightUnknown}</p>}
      {data !== undefined && <Content effective={data} rules={rules} />}
    </>
  );
}

function Content({ effective, rules }: { readonly effective: Effective; readonly rules: Rules | undefined }): JSX.Element {
  const { warnings, problems = [] } = effective;
  const text = (query.value.get('q') ?? '').toLowerCase();
  const sections = sectionsOf(effective)
    .map((section) => ({
      ...section,
      rows: section.rows.filter(({ found }) => `${section.title} ${found}`.toLowerCase().includes(text)),
    }))
    .filter(({ rows }) => rows.length > 0);
  return (
    <div class="stack">
      {[...warnings, ...problems.map(({ at, reason }) => `${at}: ${reason}`)].map((line) => (
        <p key={line} class="note failure">
          {line}
        </p>
      ))}
      <div class="split">
        <div class="stack">
          {sections.map(({ title, note, rows }) => (
            <ConfTable key={title} title={title} note={note} rows={rows} />
          ))}
          {sections.length === 0 && (
            <p class="card none">{text === '' ? 'No policy is in force here' : 'Nothing fits the filter'}</p>
          )}
          {effective.total > effective.outbounds.length && (
            <p class="note">The first {effective.outbounds.length} outbounds are shown.</p>
          )}
        </div>
        {rules !== undefined && <Losers effective={effective} rules={rules} />}
      </div>
    </div>
  );
}

function Losers({ effective, rules }: { readonly effective: Effective; readonly rules: Rules }): JSX.Element {
  const losers = losersOf(effective, rules);
  const { data: types = [] } = useLive('types', [], resourceTypes);
  return (
    <section class="card" aria-label="Policies that match and set nothing">
      <div class="bar">
        <h2>Match, but set nothing here</h2>
      </div>
      {losers === null && <p class="none">Unknown: not all outbounds are shown</p>}
      {losers?.length === 0 && <p class="none">Each policy that matches sets a value</p>}
      <ul class="problems">
        {losers?.map(({ type, mesh, name, stored }) => (
          <li key={`${type} ${stored}`}>
            <a href={linkTo(placeOf(types.find((one) => one.name === type)?.path ?? '', mesh, stored))}>{name}</a>
            <p>{type}: another policy comes before it for each value</p>
          </li>
        ))}
      </ul>
    </section>
  );
}
