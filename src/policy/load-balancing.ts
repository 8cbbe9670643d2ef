// A special rule of MeshLoadBalancingStrategy (MADR 075, policies 5): a route's key also shows the loadBalancer of the route's service, for
// the reader. Invariant: that value is never used; the cluster is configured from the service's key (D12).
import type { Json, JsonObject } from '../resource/types.ts';
import { destinationsOf, sectionOf } from './group-items.ts';
import type { MeshIndex } from './mesh-index.ts';
import type { Contribution, ResourceRule, ResourceRules } from './resource-rules.ts';

/**
 * The proxy's own rules with a loadBalancer on their route keys. A route on services with different loadBalancers shows none, and so
 * does a route without conf.
 * @param own the rules of a proxy that are not shared, including those of all routes
 * @param all the own and the shared rules
 */
export function withRouteLoadBalancers(
  index: MeshIndex,
  own: ReadonlyMap<string, ResourceRule>,
  all: ResourceRules,
  zone: string,
): ReadonlyMap<string, ResourceRule> {
  const completed = new Map(own);
  for (const [kri, rule] of own) {
    const services = serviceRules(index, rule, all, zone).flatMap(({ conf, contributions }) => {
      const loadBalancer = loadBalancerOf(conf[0]);
      return loadBalancer === undefined ? [] : [{ loadBalancer, contributions }];
    });
    const [first] = services;
    // A route without conf of its own has the conf of its service (D13).
    if (first === undefined || Object.keys(rule.conf[0] ?? {}).length === 0) continue;
    const { loadBalancer: shown } = first;
    if (services.some(({ loadBalancer }) => JSON.stringify(loadBalancer) !== JSON.stringify(shown))) continue;
    completed.set(kri, {
      kri,
      resource: rule.resource,
      section: rule.section,
      conf: [{ ...rule.conf[0], loadBalancer: shown }],
      contributions: join(first.contributions, rule.contributions),
    });
  }
  return completed;
}

/** The rules of the services that a route's `to[]` selects; none for another resource. */
function serviceRules(index: MeshIndex, { resource }: ResourceRule, rules: ResourceRules, zone: string): ResourceRule[] {
  const route = index.policyOf(resource);
  return (route?.to ?? []).flatMap(({ targetRef, policy }) => {
    const services = destinationsOf(index, targetRef, policy, zone);
    if (typeof services === 'string') return [];
    return services.flatMap((service) => {
      const kri = index.kriOf(service);
      return rules.get(kri + sectionOf(targetRef)) ?? rules.get(kri) ?? [];
    });
  });
}

/** The contributions to the loadBalancer come first; an item that contributed to both is one contribution. */
function join(service: readonly Contribution[], route: readonly Contribution[]): Contribution[] {
  const givers = service.flatMap(({ policy, index, conf }) => {
    const loadBalancer = loadBalancerOf(conf);
    return loadBalancer === undefined ? [] : [{ policy, index, conf: { loadBalancer } }];
  });
  const same = (a: Contribution, b: Contribution): boolean => a.policy === b.policy && a.index === b.index;
  return [
    ...givers.filter((giver) => !route.some((item) => same(giver, item))),
    ...route.map((item) => ({ ...item, conf: { ...item.conf, ...givers.find((giver) => same(giver, item))?.conf } })),
  ];
}

function loadBalancerOf(conf: JsonObject | undefined): Json | undefined {
  return conf?.['loadBalancer'];
}
