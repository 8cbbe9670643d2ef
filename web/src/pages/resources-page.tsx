// The types of resources, with how many there are of each.
import type { JSX } from 'preact';
import { Failure } from '../parts/failure.tsx';
import { FilterField } from '../parts/filter-field.tsx';
import { TypesByZone } from '../parts/types-by-zone.tsx';
import { resourceTypes, type TypeInfo } from '../catalog.ts';
import { useLive } from '../live.ts';
import { linkTo, query } from '../router.ts';
import { loadTotals } from '../totals.ts';

/** Titles, and the types below them. */
const GROUPS: readonly (readonly [string, (type: TypeInfo) => boolean])[] = [
  ['Policies', ({ policy }) => policy !== undefined],
  ['Services and proxies', ({ scope }) => scope === 'Mesh'],
  ['Outside of meshes', () => true],
];

export function ResourcesPage(): JSX.Element {
  const { data: types, failure } = useLive('types', [], resourceTypes);
  const { data: totals = {} } = useLive('totals', [], loadTotals);
  const isByZone = query.value.get('view') === 'zones';
  const text = (query.value.get('q') ?? '').toLowerCase();
  const found = (types ?? []).filter(({ name, pluralDisplayName }) =>
    `${name} ${pluralDisplayName}`.toLowerCase().includes(text),
  );
  const grouped = Map.groupBy(found, (type) => GROUPS.find(([, isIn]) => isIn(type))?.[0] ?? '');
  return (
    <>
      <div class="head">
        <h1>Resources</h1>
        <Views isByZone={isByZone} />
        <div class="end">{!isByZone && <FilterField label="Filter types" />}</div>
      </div>
      <Failure of={failure} />
      {isByZone && <TypesByZone />}
      {!isByZone && (
        <div class="stack">
          {GROUPS.map(([title]) => (
            <Group key={title} title={title} types={grouped.get(title) ?? []} totals={totals} />
          ))}
        </div>
      )}
    </>
  );
}

function Views({ isByZone }: { readonly isByZone: boolean }): JSX.Element {
  return (
    <nav class="views" aria-label="Views">
      <a href={linkTo(['resources'])} {...(!isByZone && { 'aria-current': 'page' as const })}>
        List
      </a>
      <a href={linkTo(['resources'], { view: 'zones' })} {...(isByZone && { 'aria-current': 'page' as const })}>
        By zone
      </a>
    </nav>
  );
}

type GroupProps = {
  readonly title: string;
  readonly types: readonly TypeInfo[];
  readonly totals: Readonly<Record<string, number>>;
};

function Group({ title, types, totals }: GroupProps): JSX.Element | null {
  if (types.length === 0) return null;
  return (
    <section aria-label={title}>
      <h2 class="group">{title}</h2>
      <div class="tiles">
        {types.map(({ name, path, pluralDisplayName }) => (
          <a key={path} href={linkTo(['resources', path])}>
            {pluralDisplayName}
            <span class="number">{(totals[name] ?? 0) === 0 ? '–' : (totals[name] ?? 0).toLocaleString('en')}</span>
          </a>
        ))}
      </div>
    </section>
  );
}
