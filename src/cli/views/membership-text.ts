// The resources that zones lose and get by a change of a Zone, as lines. Pure.
import { visibleLine } from '../../base/visible-text.ts';
import type { Answer } from '../../answers/answers.ts';

type Membership = NonNullable<Answer<'Written'>['membership']>;
type RowGroups = Membership['loses'];

/** A line for each list that is not empty, and under it a line for each type and mesh. */
export function membershipLines(membership: Membership | undefined): string[] {
  if (membership === undefined) return [];
  const { zone, loses, gets, othersLose, othersGet } = membership;
  return [
    ...linesOf(`${zone} loses`, loses),
    ...linesOf(`${zone} gets`, gets),
    ...linesOf(`the other zones lose, of those of ${zone}`, othersLose),
    ...linesOf(`the other zones get, of those of ${zone}`, othersGet),
  ];
}

function linesOf(what: string, { total, groups }: RowGroups): string[] {
  if (total === 0) return [];
  const head = `${what}: ${String(total)} ${total === 1 ? 'resource' : 'resources'}`;
  const listed = groups.map(({ type, mesh, total: of, names }) => {
    const more = of > names.length && names.length > 0 ? ', …' : '';
    const named = names.length === 0 ? '' : `: ${names.join(', ')}${more}`;
    return `  ${String(of)} ${type}${mesh === '' ? '' : ` in mesh ${mesh}`}${named}`;
  });
  const rest = total - groups.reduce((sum, group) => sum + group.total, 0);
  return [head, ...listed, ...(rest > 0 ? [`  ${String(rest)} of other types and meshes`] : [])].map((line) => visibleLine(line));
}
