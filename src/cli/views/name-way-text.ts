// The way of a name as text: a line for it, a table of its parts, and the ways to the servers. Pure.
import type { Answer } from '../../answers/answers.ts';
import { visibleLine } from '../../base/visible-text.ts';
import { describeWays } from './service-ways-text.ts';
import { table } from './table.ts';

export function describeNameWay({ hostname, dataplane, zone, state, parts, ways }: Answer<'NameWay'>): string {
  const rows = parts.map(({ part, value, state: is, why }) => [`  ${part}`, value || '-', is, why || '-']);
  const head = [
    visibleLine(`${hostname} from ${dataplane} in ${zone}: ${state}`),
    table(['  PART', 'VALUE', 'STATE', 'WHY'], rows),
  ].join('\n');
  return ways.length === 0 ? head : `${head}\n\n${describeWays(ways)}`;
}
