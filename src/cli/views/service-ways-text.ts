// The ways to a service as text: a line for each, and a table of its parts. Pure.
import type { Answer } from '../../answers/answers.ts';
import { visibleLine } from '../../base/visible-text.ts';
import { table } from './table.ts';

type Way = Answer<'Ways'>['items'][number];
type Part = Way['parts'][number];

/** One way after the other; `''` without any. */
export function describeWays(ways: readonly Way[]): string {
  return ways
    .map((way) => [
      headOf(way),
      table(['  PART', 'ZONE', 'NAME', 'ADDRESS', 'STATE', 'WHY'], way.parts.map(cellsOf)),
      ...collisionsOf(way),
    ])
    .map((lines) => lines.join('\n'))
    .join('\n\n');
}

/** `MeshService catalog:80, east → west, ok: cart-1 → 192.0.2.10:10001 (SNI …) → catalog-1` */
function headOf({ type, service, port, from, to, state, callers, parts }: Way): string {
  const first = (part: Part['part']): Part | undefined =>
    parts.filter((one) => one.part === part).find((one) => one.state !== 'broken') ?? parts.find((one) => one.part === part);
  const crossing = first('ingress') ?? first('egress');
  const steps = [
    callers > 1 ? `${String(callers)} proxies` : nameOf(first('caller')) || 'no caller',
    ...(crossing === undefined
      ? []
      : [crossing.sni === undefined ? crossing.address : `${crossing.address} (SNI ${crossing.sni})`]),
    nameOf(first('server')),
  ];
  const where = to === '' || to === from ? from : `${from} → ${to}`;
  return visibleLine(`${type} ${service}:${String(port)}, ${where}, ${state}: ${steps.map((step) => step || '?').join(' → ')}`);
}

/** The server names that another service has too: a zone proxy leads to the older one. */
function collisionsOf({ sharedSnis }: Way): string[] {
  return sharedSnis.map(({ sni, other, isOwn }) => {
    const leads = isOwn ? 'it leads here, because this service is older' : 'it leads there, because that service is older';
    return visibleLine(`  SNI ${sni} is also that of ${other}: ${leads}. Give one of them another name.`);
  });
}

function nameOf(part: Part | undefined): string {
  if (part === undefined) return '';
  const isElsewhere = part.part === 'server' && part.state === 'unknown' && part.zone !== '';
  return part.name || part.address || (isElsewhere ? `a server of ${part.zone}` : '');
}

function cellsOf({ part, zone, name, address, state, why }: Part): string[] {
  return [`  ${part}`, zone || '-', name || '-', address || '-', state, why || '-'];
}
