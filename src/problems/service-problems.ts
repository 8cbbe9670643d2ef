// The problems of services, as their own zone reports them: those with proxies of which none serves. They are in the status of
// MeshServices, which global knows too. A service without any Dataplane is none: it may be scaled to zero.
import { whyFailing } from '../inspect/unreachable-services.ts';
import { displayNameOf } from '../resource/labels.ts';
import { homeZoneOf } from '../resource/ownership.ts';
import type { Resource } from '../resource/types.ts';
import { compareText } from '../base/compare-text.ts';
import { problemOf, type Problem } from './problem.ts';

/** The number of services in a message. */
const MAX_NAMES = 5;

/**
 * @param services the MeshServices
 * @param zone the zone of this control plane, which reports its own services alone; null on global
 */
export function serviceProblems(services: readonly Resource[], zone: string | null): Problem[] {
  const failing = services.flatMap((service) => {
    const home = homeZoneOf(service, zone ?? '');
    const why = zone === null || home === zone ? whyFailing(service) : null;
    return why === null ? [] : [{ mesh: service.mesh, home, name: displayNameOf(service), why }];
  });
  return [...Map.groupBy(failing, ({ mesh, home }) => `${mesh}/${home}`)]
    .toSorted(([a], [b]) => compareText(a, b))
    .flatMap(([, [first, ...others]]) => {
      if (first === undefined) return [];
      const { mesh, home } = first;
      const all = [first, ...others];
      const names = all.slice(0, MAX_NAMES).map(({ name, why }) => `${name} (${why})`);
      const more = all.length > MAX_NAMES ? ` and ${String(all.length - MAX_NAMES)} more` : '';
      const message = `no server of ${names.join(', ')}${more} serves, in mesh ${mesh} and zone ${home}`;
      const resources = all.slice(0, MAX_NAMES).map(({ name }) => name);
      const about = { type: 'MeshService', zone: home, mesh, resources, count: all.length, since: null, message };
      return [problemOf('serviceDown', [mesh, home], about)];
    });
}
