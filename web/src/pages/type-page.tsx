// The resources of one type.
import { changesOf } from '../concerns.ts';
import { useRef } from 'preact/hooks';
import type { JSX } from 'preact';
import { Failure } from '../parts/failure.tsx';
import { FilterField } from '../parts/filter-field.tsx';
import { ViewChooser } from '../parts/view-chooser.tsx';
import { LongTable, type Column } from '../parts/long-table.tsx';
import { placeOf, typeByPath, type TypeInfo } from '../catalog.ts';
import { useLast, useLive } from '../live.ts';
import { linkTo, query } from '../router.ts';
import { ApiFailure, get } from '../session.ts';
import { ago, counted } from '../words.ts';
import type { PageProps } from './page-list.tsx';

type Item = {
  readonly name: string;
  readonly mesh?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly modificationTime?: string;
};
type Listed = { readonly type: TypeInfo; readonly total: number; readonly items: readonly Item[] };

/** As many as one request gives; the filter finds the others. */
const SIZE = 1_000;

export function TypePage({ parts: [, path = ''] }: PageProps): JSX.Element {
  const text = query.value.get('q') ?? '';
  const listed = useRef<Listed>(undefined);
  const { data: found, failure } = useLive(`list ${path} ${text}`, ['changes', 'clock'], (signal) => load(path, text, signal), {
    concerns: changesOf(({ type }) => listed.current === undefined || type === listed.current.type.name),
  });
  const data = useLast(found);
  listed.current = data;
  return (
    <>
      <div class="head">
        <p class="crumbs">
          <a href={linkTo(['resources'])}>Resources</a> / type
        </p>
        <h1>{data?.type.pluralDisplayName ?? path}</h1>
        {data !== undefined && (
          <span class="soft">
            {counted(data.total, 'resource')}
            {data.total > data.items.length && `, the first ${data.items.length.toLocaleString('en')} of them below`}
          </span>
        )}
        {data !== undefined && <ViewChooser path={path} mesh={null} isInMesh={data.type.scope === 'Mesh'} />}
        <div class="end">
          <FilterField label="Filter by stored name" />
          {data !== undefined && (
            <a class="button" href={linkTo(['resources', path, '-', '+'])}>
              New
            </a>
          )}
        </div>
      </div>
      <Failure of={failure} />
      <section class="card" aria-label="List of resources">
        <LongTable
          label="Resources"
          rows={data?.items ?? []}
          columns={columnsOf(path, data?.type.scope === 'Mesh')}
          keyOf={({ mesh = '', name }) => `${mesh}/${name}`}
          none={data === undefined ? 'Loading' : text === '' ? 'There is none' : 'No name has this text'}
          height="76vh"
        />
      </section>
    </>
  );
}

function columnsOf(path: string, isInMesh: boolean): readonly Column<Item>[] {
  const label = (item: Item, key: string): string => item.labels?.[`kuma.io/${key}`] ?? '';
  return [
    {
      title: 'Name',
      width: 'minmax(160px, 2fr)',
      cell: (item) => <a href={linkTo(placeOf(path, item.mesh, item.name))}>{label(item, 'display-name') || item.name}</a>,
    },
    ...(isInMesh ? [{ title: 'Mesh', width: 'minmax(80px, 1fr)', cell: ({ mesh = '' }: Item) => mesh }] : []),
    {
      title: 'Written on',
      width: 'minmax(90px, 1fr)',
      cell: (item) => (label(item, 'origin') === 'zone' ? `zone ${label(item, 'zone')}` : label(item, 'origin')),
    },
    { title: 'Stored name', width: 'minmax(160px, 2fr)', cell: ({ name }) => <span class="mono">{name}</span> },
    {
      title: 'Changed',
      width: '110px',
      cell: ({ modificationTime }) => <span title={modificationTime ?? ''}>{ago(modificationTime)}</span>,
    },
  ];
}

async function load(path: string, text: string, signal: AbortSignal): Promise<Listed> {
  const type = await typeByPath(path);
  if (type === undefined) throw new ApiFailure(404, `There is no type with the path ${path}`);
  const { total, items } = await get<{ total: number; items: Item[] }>(
    `/${path}?size=${String(SIZE)}${text === '' ? '' : `&name=${encodeURIComponent(text)}`}`,
    signal,
  );
  return { type, total, items };
}
