// All proxies, with their connections.
import type { JSX } from 'preact';
import type { Answer } from '../../../src/answers/answers.ts';
import { Failure } from '../parts/failure.tsx';
import { FilterField } from '../parts/filter-field.tsx';
import { LongTable, type Column } from '../parts/long-table.tsx';
import { StateMark } from '../parts/state-mark.tsx';
import { useLast, useLive } from '../live.ts';
import { proxyState } from '../proxies.ts';
import { linkTo, query } from '../router.ts';
import { get } from '../session.ts';
import { described } from '../subscription.ts';
import { counted } from '../words.ts';

type Overview = Answer<'DataplaneOverview'>;
type Page = { readonly total: number; readonly items: readonly Overview[] };

/** As many as one request gives; the filter finds the others. */
const SIZE = 1_000;

const label = ({ labels = {} }: Overview, key: string): string => labels[`kuma.io/${key}`] ?? '';

const COLUMNS: readonly Column<Overview>[] = [
  {
    title: 'Proxy',
    width: 'minmax(140px, 2fr)',
    cell: (proxy) => <a href={linkTo(['proxies', proxy.mesh ?? '', proxy.name])}>{label(proxy, 'display-name') || proxy.name}</a>,
  },
  { title: 'State', width: '130px', cell: (proxy) => <StateMark {...proxyState(proxy)} /> },
  { title: 'Mesh', width: 'minmax(80px, 1fr)', cell: ({ mesh = '' }) => mesh },
  { title: 'Zone', width: 'minmax(80px, 1fr)', cell: (proxy) => label(proxy, 'zone') },
  {
    title: 'Envoy',
    width: '90px',
    cell: ({ dataplaneInsight }) => described(dataplaneInsight?.subscriptions)?.version?.envoy?.version ?? '',
  },
  {
    title: 'Problem',
    width: 'minmax(140px, 3fr)',
    cell: ({ insightUnknown, proxyProblems: [first] = [] }) => {
      const text = insightUnknown ?? (first === undefined ? '' : `${first.at}: ${first.reason}`);
      return text === '' ? '' : <span title={text}>{text}</span>;
    },
  },
];

export function ProxiesPage(): JSX.Element {
  const text = query.value.get('q') ?? '';
  const { data: found, failure } = useLive(`proxies ${text}`, ['clock'], (signal) =>
    get<Page>(`/dataplanes/_overview?size=${String(SIZE)}${text === '' ? '' : `&name=${encodeURIComponent(text)}`}`, signal),
  );
  const data = useLast(found);
  return (
    <>
      <div class="head">
        <h1>Proxies</h1>
        {data !== undefined && (
          <span class="soft">
            {counted(data.total, 'proxy', 'proxies')}
            {data.total > data.items.length && `, the first ${data.items.length.toLocaleString('en')} of them below`}
          </span>
        )}
        <div class="end">
          <FilterField label="Filter by name" />
        </div>
      </div>
      <Failure of={failure} />
      <section class="card" aria-label="List of proxies">
        <LongTable
          label="Proxies"
          rows={data?.items ?? []}
          columns={COLUMNS}
          keyOf={({ mesh = '', name }) => `${mesh}/${name}`}
          none={data === undefined ? 'Loading' : text === '' ? 'There is none' : 'No name has this text'}
          height="76vh"
        />
      </section>
    </>
  );
}
