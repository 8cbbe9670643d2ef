// The problem of a service that proxies of a zone call and do not reach, with the broken part of the way. Pure.
import type { UnreachableWay } from '../inspect/unreachable-services.ts';
import { problemOf, type Problem } from './problem.ts';

export function unreachableProblem({ service: { type, mesh, name }, way }: UnreachableWay): Problem {
  const { from, to, port, service, parts, callers } = way;
  const broken = parts.find(({ state }) => state === 'broken');
  const part = broken === undefined ? '' : [broken.part, broken.name].filter((text) => text !== '').join(' ');
  const place = to === '' || to === from ? '' : ` of zone ${to}`;
  const count = callers === 1 ? 'one proxy names' : `${String(callers)} proxies name`;
  const message =
    `zone ${from} does not reach port ${String(port)} of ${type} ${service}${place} in mesh ${mesh}, which ${count} as an outbound: ` +
    `${part}: ${broken?.why ?? 'no part of the way works'}`;
  return problemOf('serviceUnreachable', [mesh, type, name, String(port), from, to], {
    ...{ type, zone: from, mesh, resources: [service], since: null, message },
  });
}
