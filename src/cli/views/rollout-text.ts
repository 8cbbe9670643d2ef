// The rollouts of changes as text: a line for each resource, and a table of the zones that need attention. Pure.
import { visibleLine } from '../../base/visible-text.ts';
import type { Answer } from '../../answers/answers.ts';
import { table } from './table.ts';

type Rollout = Answer<'Rollout'>;
type Target = Rollout['targets'][number];
type SecondHop = Answer<'OnwardSummary'>;

/** The number of zones that are named among those that have the change: the slowest. */
const MAX_SLOWEST = 3;
/** The number of zones that are named among those that lack it. */
const MAX_NAMED = 20;

const STATES: Record<Target['state'], string> = {
  acknowledged: 'has it',
  refused: 'refused it',
  withheld: 'cannot read it',
  sent: 'has not answered',
  pending: 'is not sent it yet',
  away: 'is not connected',
  unknown: 'is connected to a replica that did not answer',
  hidden: 'is not meant to have it',
};

/** Several rollouts, each in one line, with the zones that lack a change. */
export function rolloutsText(rollouts: readonly Rollout[]): string {
  return rollouts
    .map((rollout) => [headline(rollout), ...lacking(rollout), ...onwardLines(rollout), ...lacking(rollout.onward)].join('\n'))
    .join('\n');
}

/** One rollout with a table of zones. @param isAll lists also the zones that have the change */
export function rolloutText(rollout: Rollout, isAll: boolean): string {
  const parts = [withTable(headline(rollout), rollout.targets, isAll)];
  const onward = onwardLines(rollout);
  if (onward.length > 0) parts.push(withTable(onward.join('\n'), rollout.onward?.targets ?? [], isAll));
  return parts.join('\n\n');
}

function withTable(head: string, targets: readonly Target[], isAll: boolean): string {
  const shown = targets.filter(({ state }) => isAll || state !== 'hidden');
  const rows = shown.map(({ to, state, sentMs, acknowledgedMs, reason = '' }) => [
    ...[to, STATES[state], msText(sentMs), msText(acknowledgedMs)],
    visibleLine(reason),
  ]);
  return rows.length === 0 ? head : `${head}\n\n${table(['ZONE', 'STATE', 'SENT AFTER', 'HAD IT AFTER', 'REASON'], rows)}`;
}

/** The second hop, from global to the other zones. Its times count from the commit on global. */
function onwardLines({ onward, onwardNote }: Rollout): string[] {
  if (onwardNote !== undefined) return [visibleLine(`  other zones: not known: ${onwardNote}`)];
  if (onward === undefined) return [];
  const { counts, note, medianMs, slowestMs, omitted } = onward;
  if (note !== undefined) return [visibleLine(`  global sends it to no other zone: ${note}`)];
  const meant = meantOf(counts);
  if (meant === 0) return ['  global sends it to no other zone'];
  const times =
    medianMs === undefined ? '' : `, half of them ${msText(medianMs)} after global, all ${msText(slowestMs)} after it`;
  const left = omitted === undefined ? '' : `; ${String(omitted)} of them are not listed`;
  return [visibleLine(`  other zones: ${String(counts.acknowledged)} of ${String(meant)} have it${times}${left}`)];
}

/**
 * The last changes in a table.
 * @param age prints the age of a time, such as `5m`
 * @param hops what a zone knows of the other zones
 */
export function changesText(
  changes: readonly Answer<'ChangeSummary'>[],
  age: (time: string) => string,
  hops: readonly SecondHop[] | null = null,
): string {
  const hopOf = new Map(hops?.map((hop) => [hop.id, hop]));
  const rows = changes.map(({ id, type, mesh, name, isRemoval, committedAt, outcome, counts, medianMs, slowestMs }) => {
    const second = hops === null ? [] : [otherZones(hopOf.get(id))];
    return [
      ...[
        String(id),
        age(committedAt),
        isRemoval ? 'removed' : 'put',
        type,
        visibleLine(mesh === undefined ? name : `${mesh}/${name}`),
      ],
      ...[shareOf(counts), ...second, msText(medianMs), msText(slowestMs), outcome],
    ];
  });
  const titles = hops === null ? ['ZONES'] : ['GLOBAL', 'OTHER ZONES'];
  return table(['CHANGE', 'AGE', 'WHAT', 'TYPE', 'NAME', ...titles, 'MEDIAN', 'SLOWEST', 'OUTCOME'], rows);
}

/** `3/4`, `none` if global sends it to no other zone, `?` if it is not known, `-` before global has it. */
function otherZones(hop: SecondHop | undefined): string {
  if (hop === undefined) return '-';
  const { onward } = hop;
  if (onward === undefined) return '?';
  return meantOf(onward.counts) === 0 ? 'none' : `${shareOf(onward.counts)} ${onward.outcome}`;
}

function shareOf(counts: Rollout['counts']): string {
  return `${String(counts.acknowledged)}/${String(meantOf(counts))}`;
}

/** The number of zones that should have the change. */
function meantOf(counts: Rollout['counts']): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0) - counts.hidden;
}

function headline({ type, mesh, name, isRemoval = false, counts, medianMs, slowestMs, targets, note }: Rollout): string {
  const what = `${type} ${mesh === undefined ? '' : `${mesh}/`}${name}${isRemoval ? ' (removed)' : ''}`;
  if (note !== undefined) return visibleLine(`${what}: goes to no zone: ${note}`);
  const meant = targets.length - counts.hidden;
  if (meant === 0) return visibleLine(`${what}: no zone is meant to have it`);
  const slowest = targets
    .filter(({ acknowledgedMs }) => acknowledgedMs !== undefined)
    .toSorted((a, b) => (b.acknowledgedMs ?? 0) - (a.acknowledgedMs ?? 0))
    .slice(0, MAX_SLOWEST)
    .map(({ to, acknowledgedMs }) => `${to} ${msText(acknowledgedMs)}`);
  const times = medianMs === undefined ? '' : `, half of them after ${msText(medianMs)}, all after ${msText(slowestMs)}`;
  const who = slowest.length > 1 ? ` (slowest: ${slowest.join(', ')})` : '';
  return visibleLine(`${what}: ${String(counts.acknowledged)} of ${String(meant)} have it${times}${who}`);
}

function lacking({ targets }: Pick<Rollout, 'targets'> = { targets: [] }): string[] {
  const without = targets.filter(({ state }) => state !== 'acknowledged' && state !== 'hidden');
  const lines = without
    .slice(0, MAX_NAMED)
    .map(({ to, state, reason }) => visibleLine(`  ${to} ${STATES[state]}${reason === undefined ? '' : `: ${reason}`}`));
  return without.length > MAX_NAMED ? [...lines, `  and ${String(without.length - MAX_NAMED)} more`] : lines;
}

/** `7 ms`, `1.2 s`, `-` without a time. */
function msText(ms: number | undefined): string {
  if (ms === undefined) return '-';
  return ms < 1_000 ? `${String(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}
