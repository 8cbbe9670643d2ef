// Versions of a resource in a table. Pure.
import { visibleLine } from '../../base/visible-text.ts';
import type { Answer } from '../../answers/answers.ts';
import { table } from './table.ts';

type Version = Answer<'History'>['items'][number];

/** The number of changed fields that a line names. */
const MAX_NAMED = 3;
const NOBODY: Record<Version['via'], string> = {
  api: '-',
  database: '-',
  'control-plane': '(control plane)',
  unknown: '(not known)',
};

/** @param age prints the age of a time, such as `5m` */
export function historyText(versions: readonly Version[], age: (time: string) => string): string {
  const rows = versions.map(({ version, time, by, via, action, ...more }) => [
    ...[String(version), age(time), visibleLine(by === undefined ? NOBODY[via] : by + (via === 'database' ? ' (database)' : ''))],
    ...[action, visibleLine(changeText(more))],
  ]);
  return table(['VERSION', 'AGE', 'WHO', 'ACTION', 'WHAT'], rows);
}

function changeText({
  changed = [],
  changes = 0,
  restored,
  isHidden = false,
}: Omit<Version, 'version' | 'time' | 'via' | 'action'>): string {
  const named = changed.slice(0, MAX_NAMED);
  const others = changes - named.length;
  return [
    ...(restored === undefined ? [] : [`back to ${String(restored)}`]),
    ...named,
    ...(others > 0 ? [`and ${String(others)} more`] : []),
    ...(isHidden ? ['(data not kept)'] : []),
  ].join(', ');
}
