// The resources of a type × the zones: which zone has which, and for each cell the name there, the rule, and the reason.
import type { ComponentChildren, JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { placeOf, typeByPath, type TypeInfo } from '../catalog.ts';
import { deliveryMark } from '../delivery.ts';
import { useLast, useLive } from '../live.ts';
import { verdictFor, type ResourceRow, type Verdict } from '../matrix-row.ts';
import { useMatrixRows, type Rows } from '../matrix-rows.ts';
import { Failure } from '../parts/failure.tsx';
import { FilterField } from '../parts/filter-field.tsx';
import { Legend } from '../parts/legend.tsx';
import { FIRST_IN_SIGHT, Matrix, type Range } from '../parts/matrix.tsx';
import type { MatrixCell, MatrixRow } from '../parts/matrix-line.tsx';
import { StateMark } from '../parts/state-mark.tsx';
import { ColumnChooser, firstColumn, roomFor } from '../parts/zone-columns.tsx';
import { linkTo, query } from '../router.ts';
import { ApiFailure } from '../session.ts';
import { useWidth } from '../use-width.ts';
import { counted } from '../words.ts';
import { ViewChooser } from '../parts/view-chooser.tsx';
import type { PageProps } from './page-list.tsx';

/** What the zone has that wrote a resource. */
const ORIGINAL: MatrixCell = { tone: null, word: 'has the original', glyph: '◆' };

export function MatrixPage({ parts: [, path = '', mesh = '-'] }: PageProps): JSX.Element {
  const { data: type, failure } = useLive(`type ${path}`, [], async () => {
    const found = await typeByPath(path);
    if (found === undefined) throw new ApiFailure(404, `There is no type with the path ${path}`);
    return found;
  });
  return (
    <>
      <div class="head">
        <p class="crumbs">
          <a href={linkTo(['resources'])}>Resources</a>
          {mesh !== '-' && ` / mesh ${mesh}`}
        </p>
        <h1>{type?.pluralDisplayName ?? path}</h1>
        <ViewChooser path={path} mesh={mesh} isInMesh={type?.scope !== 'Global'} />
        <div class="end">
          <FilterField label="Filter by stored name" />
        </div>
      </div>
      <Failure of={failure} />
      {type !== undefined && <Content type={type} mesh={mesh} />}
    </>
  );
}

function Content({ type, mesh }: { readonly type: TypeInfo; readonly mesh: string }): JSX.Element {
  const [range, setRange] = useState<Range>(FIRST_IN_SIGHT);
  const text = query.value.get('q') ?? '';
  const prefix = type.scope === 'Mesh' ? `/meshes/${encodeURIComponent(mesh)}` : '';
  const { data: loaded, failure } = useMatrixRows(
    { path: `${prefix}/${type.path}`, type: type.name, mesh: type.scope === 'Mesh' ? mesh : '-' },
    text,
    range,
  );
  const data = useLast(loaded);
  return (
    <>
      <Failure of={failure} />
      {data !== undefined && <Cells type={type} data={data} onRows={setRange} />}
    </>
  );
}

type CellsProps = { readonly type: TypeInfo; readonly data: Rows; readonly onRows: (range: Range) => void };

function Cells({ type, data, onRows }: CellsProps): JSX.Element {
  const [frame, width] = useWidth<HTMLElement>(1_000);
  const { total, zones, rows } = data;
  const wanted = (query.value.get('zones') ?? '').toLowerCase();
  const found = useMemo(() => zones.flatMap((name, at) => (name.toLowerCase().includes(wanted) ? [at] : [])), [zones, wanted]);
  const room = roomFor(width);
  const first = firstColumn(found.length, room);
  const columns = useMemo(() => found.slice(first, first + room), [found, first, room]);
  const names = useMemo(() => columns.map((at) => zones[at] ?? ''), [columns, zones]);
  // A row is made once for its resource, as long as the columns stay.
  const made = useMemo(() => new WeakMap<ResourceRow, MatrixRow>(), [type, columns, zones]);
  const rowAt = (row: number): MatrixRow | undefined => {
    const resource = rows.get(row);
    if (resource === undefined) return undefined;
    const known = made.get(resource) ?? rowOf(resource, { type, columns, zones });
    made.set(resource, known);
    return known;
  };
  const verdictAt = (row: number, column: number): Verdict | undefined => {
    const resource = rows.get(row);
    return resource && verdictFor(resource, columns[column] ?? 0);
  };
  return (
    <section ref={frame} class="card" aria-label="Resources and zones">
      <div class="bar">
        <h2>{counted(total, 'resource')}</h2>
        <ColumnChooser total={found.length} first={first} shown={columns.length} room={room} />
        <Legend more={['◆ has the original', '– not sent']} />
      </div>
      <Matrix
        label="Resources and zones"
        noteTitle="Zones that have it"
        columns={names}
        rowCount={total}
        rowAt={rowAt}
        onRows={onRows}
        none={total === 0 ? 'There is no such resource' : ''}
        detailOf={(row, column) => (
          <Detail resource={rows.get(row)} verdict={verdictAt(row, column)} zone={zones[columns[column] ?? 0] ?? ''} />
        )}
      />
    </section>
  );
}

type Shown = { readonly type: TypeInfo; readonly columns: readonly number[]; readonly zones: readonly string[] };

function rowOf(resource: ResourceRow, { type, columns, zones }: Shown): MatrixRow {
  const { resource: meta, storedName, verdicts } = resource;
  const marks = new Map(verdicts.map((verdict) => [verdict, deliveryMark(verdict.isSent, verdict.state)]));
  const markOf = (zone: number): MatrixCell | undefined => {
    const verdict = verdictFor(resource, zone);
    return verdict && marks.get(verdict);
  };
  return {
    key: storedName,
    name: nameOf(resource),
    href: linkTo(placeOf(type.path, meta.mesh, storedName)),
    note: <Share resource={resource} />,
    cells: columns.map((at) => (zones[at] === homeOf(resource) ? ORIGINAL : markOf(at))),
  };
}

/** `12 of 14, 1 refused`: counted over all zones, also those without a column. */
function Share({ resource: { verdicts, counts: of } }: { readonly resource: ResourceRow }): JSX.Element {
  const counts = new Map<string, number>();
  for (const [at, { isSent, state }] of verdicts.entries()) {
    const { word } = deliveryMark(isSent, state);
    counts.set(word, (counts.get(word) ?? 0) + (of[at] ?? 0));
  }
  const all = of.reduce((sum, count) => sum + count, 0);
  const meant = all - (counts.get('not sent') ?? 0);
  const has = counts.get('has it') ?? 0;
  const others = [...counts].filter(([word]) => word !== 'has it' && word !== 'not sent');
  const text = others.map(([word, count]) => `${count.toLocaleString('en')} ${word}`).join(', ');
  return (
    <span title={text}>
      {meant === 0 ? <span class="soft">for no zone</span> : `${has.toLocaleString('en')} of ${meant.toLocaleString('en')}`}
      {text !== '' && <span class="soft">, {text}</span>}
    </span>
  );
}

type DetailProps = {
  readonly resource: ResourceRow | undefined;
  readonly verdict: Verdict | undefined;
  readonly zone: string;
};

function Detail({ resource, verdict, zone }: DetailProps): ComponentChildren {
  if (resource === undefined || verdict === undefined) return <p class="soft">Loading</p>;
  const { tone, word } = zone === homeOf(resource) ? ORIGINAL : deliveryMark(verdict.isSent, verdict.state);
  return (
    <>
      <p>
        <strong>{nameOf(resource)}</strong> in <strong>{zone}</strong>:{' '}
        {tone === null ? word : <StateMark tone={tone} word={word} />}
        {verdict.why !== undefined && <> – {verdict.why}</>}
      </p>
      <p class="soft">
        {verdict.name !== null && (
          <>
            Name there: <span class="mono">{verdict.name}</span>.{' '}
          </>
        )}
        Rule: {verdict.reason}
        {verdict.needs !== undefined && `; needs ${verdict.needs}`}.
      </p>
    </>
  );
}

/** The zone that wrote it, on global. */
function homeOf({ resource: { labels } }: ResourceRow): string | undefined {
  return labels['kuma.io/origin'] === 'zone' ? labels['kuma.io/zone'] : undefined;
}

function nameOf(resource: ResourceRow): string {
  const name = resource.resource.labels['kuma.io/display-name'] ?? resource.storedName;
  const zone = homeOf(resource);
  return zone === undefined ? name : `${name} (${zone})`;
}
