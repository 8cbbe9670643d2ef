// Types × zones: how far each zone is with each type.
import type { ComponentChildren, JSX } from 'preact';
import type { Answer } from '../../../src/answers/answers.ts';
import { resourceTypes, type TypeInfo } from '../catalog.ts';
import { useLast, useLive } from '../live.ts';
import { linkTo, query } from '../router.ts';
import { get } from '../session.ts';
import { useWidth } from '../use-width.ts';
import { clockTime, counted, lasting } from '../words.ts';
import { Failure } from './failure.tsx';
import { Legend } from './legend.tsx';
import { Matrix } from './matrix.tsx';
import type { MatrixCell, MatrixRow } from './matrix-line.tsx';
import { ColumnChooser, firstColumn, roomFor } from './zone-columns.tsx';

type Zone = Answer<'ZoneProgress'>;
type Progress = NonNullable<Zone['types']>[number];
type Page = { readonly total: number; readonly items: readonly Zone[] };
/** @property first the place of the first zone in all that fit the filter */
type Columns = Page & { readonly first: number };

/** As many as one request gives. */
const MAX_COLUMNS = 100;

export function TypesByZone(): JSX.Element {
  const [frame, width] = useWidth<HTMLElement>(1_000);
  const room = Math.min(MAX_COLUMNS, roomFor(width));
  const wanted = query.value.get('zones') ?? '';
  const from = firstColumn(Infinity, room);
  const { data: found, failure } = useLive(
    `types ${wanted} ${String(from)} ${String(room)}`,
    ['zones', 'lag', 'changes'],
    (signal) => loadColumns(wanted, { from, room }, signal),
  );
  const { data: known = [] } = useLive('types', [], resourceTypes);
  const { total, items: zones, first } = useLast(found) ?? { total: 0, items: [], first: 0 };
  const types = typesIn(zones);
  return (
    <section ref={frame} class="card" aria-label="Types and zones">
      <div class="bar">
        <h2>{counted(types.length, 'synced type')}</h2>
        <ColumnChooser total={total} first={first} shown={zones.length} room={room} />
        <Legend ok="in step" more={['– not synced']} />
      </div>
      <Failure of={failure} />
      <Matrix
        label="Types and zones"
        noteTitle="Behind"
        columns={zones.map(({ name }) => name)}
        rowCount={types.length}
        rowAt={(row) => rowOf(types[row] ?? '', zones, known)}
        none={found === undefined ? 'Loading' : 'No zone that is shown has a stream to this control plane now'}
        detailOf={(row, column) => <Detail type={types[row] ?? ''} zone={zones[column]} />}
      />
    </section>
  );
}

/** The columns from a place on; the first ones if there are fewer by now. */
async function loadColumns(
  name: string,
  { from, room }: { readonly from: number; readonly room: number },
  signal: AbortSignal,
): Promise<Columns> {
  const filter = name === '' ? '' : `&name=${encodeURIComponent(name)}`;
  const page = await get<Page>(`/zones/_progress?size=${String(room)}&offset=${String(from)}${filter}`, signal);
  if (page.items.length === 0 && from > 0) return await loadColumns(name, { from: 0, room }, signal);
  return { ...page, first: from };
}

function typesIn(zones: readonly Zone[]): readonly string[] {
  return [...new Set(zones.flatMap(({ types }) => types?.map(({ type }) => type) ?? []))].sort();
}

function rowOf(type: string, zones: readonly Zone[], known: readonly TypeInfo[]): MatrixRow {
  const path = known.find(({ name }) => name === type)?.path;
  const late = zones.filter((zone) => (progressOf(zone, type)?.behind ?? 0) > 0).length;
  return {
    key: type,
    name: type,
    href: path === undefined ? '' : linkTo(['resources', path]),
    note: late === 0 ? <span class="soft">no zone</span> : counted(late, 'zone'),
    cells: zones.map((zone) => cellOf(zone, type)),
  };
}

function progressOf({ types }: Zone, type: string): Progress | undefined {
  return types?.find((one) => one.type === type);
}

function cellOf(zone: Zone, type: string): MatrixCell {
  if (zone.types === null) return { tone: 'away', word: zone.sync.state };
  const progress = progressOf(zone, type);
  if (progress === undefined) return { tone: null, word: 'not synced' };
  const { behind, refused, withheld } = progress;
  if (refused + withheld > 0) return { tone: 'bad', word: refused > 0 ? 'refuses some' : 'cannot read some' };
  return behind > 0 ? { tone: 'late', word: 'behind' } : { tone: 'ok', word: 'in step' };
}

function Detail({ type, zone }: { readonly type: string; readonly zone: Zone | undefined }): ComponentChildren {
  if (zone === undefined) return null;
  const progress = progressOf(zone, type);
  return (
    <>
      <p>
        <strong>{type}</strong> in <a href={linkTo(['zones', zone.name])}>{zone.name}</a>: {cellOf(zone, type).word}
      </p>
      <p class="soft">{progress === undefined ? zone.sync.reason : wordsOf(progress)}</p>
    </>
  );
}

function wordsOf({ behind, oldestMs, confirmedAt, refused, withheld }: Progress): string {
  return [
    behind === 0 ? '' : `${counted(behind, 'resource')} not confirmed, the oldest for ${lasting(oldestMs)}`,
    refused === 0 ? '' : `${String(refused)} refused`,
    withheld === 0 ? '' : `${String(withheld)} withheld`,
    confirmedAt === null ? 'nothing confirmed yet' : `last confirmed ${clockTime(confirmedAt)}`,
  ]
    .filter((part) => part !== '')
    .join('; ');
}
