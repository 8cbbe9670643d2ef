// The inspect endpoints for the OpenAPI document. Invariant: these are the routes that are registered; a test compares them.
import type { DescribedRoute } from '../api/api-options.ts';
import { isServiceType, resourceTypes, type TypeInfo } from '../resource/type-registry.ts';

const PROXY: readonly (readonly [path: string, summary: string, isPaged?: boolean])[] = [
  ['_rules', 'All rules of a proxy, by type and resource'],
  ['_policies', 'Policies about the whole proxy'],
  ['policies', 'Deprecated: the policies that are attached to a proxy'],
  ['_layout', 'Inbounds, zone listeners and outbounds of a proxy'],
  ['_effective', 'What is in force on each outbound and route, value by value with its origin', true],
  ['_inbounds/{kri}/_policies', 'What clients of an inbound or zone listener meet'],
  ['_outbounds/{kri}/_policies', 'What is in force on an outbound'],
  ['_outbounds/{kri}/_routes', 'The routes of an outbound'],
  ['_outbounds/{kri}/_routes/{route}/_policies', 'What is in force on a route of an outbound'],
];

export const describedRoutes: readonly DescribedRoute[] = [
  ...PROXY.map(([path, summary, isPaged = false]) => ({ path: `/meshes/{mesh}/dataplanes/{name}/${path}`, summary, isPaged })),
  ...resourceTypes.filter(({ path }) => path !== '').flatMap(routesOf),
];

function routesOf(info: TypeInfo): DescribedRoute[] {
  const item = `${info.scope === 'Mesh' ? '/meshes/{mesh}' : ''}/${info.path}/{name}`;
  const policy = [
    { path: `${item}/_resources/dataplanes`, summary: 'The proxies that a policy matches', isPaged: true },
    { path: `${item}/dataplanes`, summary: 'Deprecated: the proxies that a policy is attached to', isPaged: false },
    { path: `${item}/_reach`, summary: 'Which proxies a policy touches, and why it leaves out the others', isPaged: true },
  ];
  const paths = [info.path, ...info.aliases].map(
    (path) => `${info.scope === 'Mesh' ? '/meshes/{mesh}' : ''}/${path}/{name}/_sync`,
  );
  return [
    ...paths.map((path) => ({ path, summary: 'Which zones it goes to, and the rule that decided', isPaged: false })),
    ...(info.policy === null ? [] : policy),
    ...(isServiceType(info.name)
      ? [{ path: `${item}/_dataplanes`, summary: 'The proxies behind a service', isPaged: true }]
      : []),
  ];
}
