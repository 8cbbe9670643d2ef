// The text of `meridian explain-sync`: for each zone, whether a resource goes there, what the zone has of it now, its name there,
// and the rule that decides. Pure.
import { visibleLine } from '../../base/visible-text.ts';
import { displayNameOf } from '../../resource/labels.ts';
import type { Answer } from '../../answers/answers.ts';
import { ageOf } from '../output.ts';
import { table } from './table.ts';

type Sync = Answer<'SyncExplanation'>;

export function describeSync({ resource, storedName, from, role, targets, withoutLabels = [] }: Sync): string {
  const name = displayNameOf(resource);
  const stored = storedName === name ? '' : ` (stored as ${storedName})`;
  const lines = [`${resource.type} ${name}${stored}, as ${from === 'global' ? 'global' : `zone ${from}`} sees it`];
  if (role !== undefined) lines.push(roleText(role));
  if (targets.length === 0) return [...lines, '', 'no zone has joined yet'].join('\n');
  if (withoutLabels.length > 0) lines.push(visibleLine(`labels that are not sent: ${withoutLabels.join(', ')}`));
  const rows = targets.map(({ to, isSent, name, state }) => [
    ...[to, isSent ? 'yes' : 'no', stateText(state), state?.since === null ? '-' : ageText(state?.since), name ?? '-'],
  ]);
  lines.push('', table(['TO', 'BY RULE', 'STATE', 'SINCE', 'NAME THERE'], rows), '');
  for (const { to, reason, needs, problem, state, zone } of targets) {
    lines.push(visibleLine(`${to}: ${reason}`));
    if (state !== undefined && state.reason !== '' && problem?.message !== state.reason)
      lines.push(`  ${indented(state.reason)}`);
    else if (zone?.state === 'disabled') lines.push(visibleLine(`  ${zone.reason}`));
    if (needs !== undefined) lines.push(visibleLine(`  needs ${needs}`));
    if (problem !== undefined) lines.push(`  ${problem.kind}: ${indented(problem.message)}`);
  }
  return lines.join('\n');
}

const STATES = {
  inSync: 'in sync',
  pending: 'pending',
  refused: 'refused',
  withheld: 'withheld',
  away: 'away',
  turnedAway: 'zone refused',
  unknown: 'unknown',
};

function stateText(state: Sync['targets'][number]['state']): string {
  if (state === undefined) return '-';
  return state.kind === 'inSync' && state.version !== undefined ? `in sync, v${String(state.version)}` : STATES[state.kind];
}

function ageText(since: string | undefined): string {
  return since === undefined ? '-' : ageOf(since);
}

function indented(text: string): string {
  return text.replaceAll('\n', '\n    ');
}

function roleText({ label, computed }: NonNullable<Sync['role']>): string {
  if (label === computed) return `role ${label}`;
  return `role ${label} by its label, ${computed ?? 'none (its to[] mixes roles)'} by its spec`;
}
