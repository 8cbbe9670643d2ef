// The problems of a proxy with its configuration, as text within 80 columns where names allow. Pure.
import { visibleLine } from '../../base/visible-text.ts';
import type { Answer } from '../../answers/answers.ts';
import { shortName } from './kri-text.ts';

type Problem = NonNullable<Answer<'Effective'>['problems']>[number];

const MAX_POLICIES = 3;

/**
 * `REFUSED Listener self_inbound_dp_http`, the reason, and the policies that are to be looked at.
 * @param proxy its name; left out where all of them are of one proxy
 */
export function proxyProblemLines({ kind, at, reason, policies, time }: Problem, mesh: string, proxy = ''): string[] {
  const by = proxy === '' ? '' : ` by ${visibleLine(proxy)}`;
  const since = time === undefined ? '' : ` since ${visibleLine(time)}`;
  const what =
    kind === 'refused'
      ? `REFUSED${by}: ${visibleLine(at)}${since}`
      : `LEFT OUT${proxy === '' ? '' : ` for ${visibleLine(proxy)}`}: ${visibleLine(at)}`;
  const shown = policies.slice(0, MAX_POLICIES).map((kri) => shortName(kri, mesh));
  const more = policies.length - shown.length;
  const from = `${shown.join(', ')}${more > 0 ? ` and ${String(more)} more` : ''}`;
  const label = kind === 'refused' ? 'policies on it, last changed first' : 'cause';
  return [what, `  ${visibleLine(reason)}`, ...(shown.length > 0 ? [`  ${label}: ${from}`] : [])];
}
