// The proxies that a policy configures, and the reasons for the others, as text. Pure.
import { visibleLine } from '../../base/visible-text.ts';
import type { Answer } from '../../answers/answers.ts';
import { longName, shortName } from './kri-text.ts';
import { proxyProblemLines } from './proxy-problem-text.ts';
import { table } from './table.ts';

export function describeReach(
  { kri, role, warnings, touched, untouched }: Answer<'Reach'>,
  mesh: string,
  style: { wide: boolean },
): string {
  const lines = [`${longName(kri, mesh)}, a ${role} policy`, kri];
  for (const warning of warnings) lines.push('', `warning: ${visibleLine(warning)}`);
  lines.push('', touched.length === 0 ? 'touches no proxy' : `touches ${count(touched.length)}`);
  const list = (texts: readonly string[]): string =>
    style.wide || texts.length <= 1 ? texts.join(', ') || '-' : `${texts[0] ?? ''} and ${String(texts.length - 1)} more`;
  const rows = touched.map(({ kri: proxy, sections, destinations }) => [
    shortName(proxy, mesh),
    list(sections),
    list(destinations.map((destination) => longName(destination, mesh))),
  ]);
  if (rows.length > 0) lines.push('', table(['PROXY', 'INBOUNDS', 'TO'], rows));
  for (const { kri: proxy, problems = [] } of touched)
    for (const problem of problems) lines.push('', ...proxyProblemLines(problem, mesh, shortName(proxy, mesh)));
  if (untouched.length > 0) {
    lines.push('', 'it leaves out');
    for (const { reason, proxies } of untouched) lines.push(`  ${count(proxies)}: it ${visibleLine(reason)}`);
  }
  return lines.join('\n');
}

function count(proxies: number): string {
  return proxies === 1 ? '1 proxy' : `${String(proxies)} proxies`;
}
