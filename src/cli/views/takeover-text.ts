// What a takeover or an import would lose, and what zones would see, as tables for people. Pure.
import type { Loss } from '../../takeover/losses.ts';
import type { Difference, ZoneView, ZoneViews } from '../../takeover/zone-views.ts';
import { table } from './table.ts';

type Named = { readonly type: string; readonly mesh: string; readonly name: string };

/** The largest number of names that a line lists. */
const MAX_NAMES = 10;

/** The longest name that is shown whole. */
const MAX_SHOWN = 100;

/** `MeshTimeout/shop/slow`. */
function resourceText({ type, mesh, name }: Named): string {
  const shown = name.length > MAX_SHOWN ? `${name.slice(0, MAX_SHOWN)}…` : name;
  return [type, mesh, shown].filter((part) => part !== '').join('/');
}

/** A line for each loss. */
export function lossesTable(losses: readonly Loss[]): string {
  return table(
    ['RESOURCE', 'FIELD', 'LOSS', 'REMEDY'],
    losses.map((loss) => [resourceText(loss), loss.field, loss.reason, loss.remedy]),
  );
}

/** What a person gives to accept these losses, without repetition. */
export function kindsOf(losses: readonly Loss[]): string {
  return [...new Set(losses.map(({ kind }) => kind))].join(',');
}

/** A line for each reason, with the number of items and some of their names. */
export function groupedTable(heads: readonly [string, string, string], items: readonly (readonly [Named, string])[]): string {
  const groups = new Map<string, string[]>();
  for (const [named, reason] of items) groups.set(reason, [...(groups.get(reason) ?? []), resourceText(named)]);
  const rows = [...groups].map(([reason, names]) => {
    const more = names.length - MAX_NAMES;
    const shown = names.slice(0, MAX_NAMES).join(', ');
    return [String(names.length), reason, more > 0 ? `${shown} and ${String(more)} more` : shown];
  });
  return table(heads, rows);
}

/** The numbers of each kind of zone, and below them a line for each row that its zones see otherwise. */
export function zonesText(views: ZoneViews): string {
  const rows = views.map(({ kind, zones, unchanged, changed, removed, added }) => [
    shownKind(kind),
    zones.join(', '),
    ...[unchanged, changed.length, removed.length, added.length].map(String),
  ]);
  const numbers = table(['KIND OF ZONE', 'ZONES', 'UNCHANGED', 'CHANGED', 'REMOVED', 'ADDED'], rows);
  const differences = views.flatMap((view) => [
    ...linesOf(view, 'changed', view.changed),
    ...linesOf(view, 'removed', view.removed),
    ...linesOf(view, 'added', view.added),
  ]);
  if (differences.length === 0) return numbers;
  return `${numbers}\n\n${table(['KIND OF ZONE', 'RESOURCE', 'BECOMES', 'WHY'], differences)}`;
}

function linesOf({ kind }: ZoneView, becomes: string, differences: readonly Difference[]): string[][] {
  return differences.map((one) => [shownKind(kind), resourceText(one), becomes, one.why]);
}

function shownKind(kind: ZoneView['kind']): string {
  return kind === 'meridian' ? 'Meridian' : `Kuma ${kind}`;
}
