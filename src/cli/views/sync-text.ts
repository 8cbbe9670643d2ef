// For each zone whether a resource goes there, under which name, and the rule that decides, as text. Pure.
import { visibleLine } from '../../base/visible-text.ts';
import { displayNameOf } from '../../resource/labels.ts';
import type { Answer } from '../../api/answers.ts';
import { table } from './table.ts';

type Sync = Answer<'SyncExplanation'>;

export function describeSync({ resource, storedName, from, role, targets }: Sync): string {
  const name = displayNameOf(resource);
  const stored = storedName === name ? '' : ` (stored as ${storedName})`;
  const lines = [`${resource.type} ${name}${stored}, as ${from === 'global' ? 'global' : `zone ${from}`} sees it`];
  if (role !== undefined) lines.push(roleText(role));
  if (targets.length === 0) return [...lines, '', 'no zone has joined yet'].join('\n');
  const rows = targets.map(({ to, isSent, name }) => [to, isSent ? 'yes' : 'no', name ?? '-']);
  lines.push('', table(['TO', 'SENT', 'NAME THERE'], rows), '');
  for (const { to, reason, needs, problem } of targets) {
    lines.push(visibleLine(`${to}: ${reason}`));
    if (needs !== undefined) lines.push(visibleLine(`  needs ${needs}`));
    if (problem !== undefined) lines.push(`  ${problem.kind}: ${problem.message.replaceAll('\n', '\n    ')}`);
  }
  return lines.join('\n');
}

function roleText({ label, computed }: NonNullable<Sync['role']>): string {
  if (label === computed) return `role ${label}`;
  return `role ${label} by its label, ${computed ?? 'none (its to[] mixes roles)'} by its spec`;
}
