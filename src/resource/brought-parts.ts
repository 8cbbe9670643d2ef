// The labels and the roles of a Dataplane that its proxy chose, in distinction to those that an administrator wrote. The status of the row
// keeps them: a PUT leaves it, and what the PUT changes is the administrator's from then on. Pure.
import { label } from './labels.ts';
import { objectOf, textMapOf, textOf } from './read-json.ts';
import type { JsonObject, Labels, Resource } from './types.ts';
import { zoneRolesOf, type ZoneRole } from './zone-listeners.ts';

type Row = Pick<Resource, 'labels' | 'spec'> & Partial<Pick<Resource, 'status'>>;

const BROUGHT = 'brought';
/** Labels that a control plane computes, or checks itself. */
const COMPUTED: ReadonlySet<string> = new Set([
  ...[label.displayName, label.mesh, label.origin, label.zone, label.env],
  ...[label.listenerZoneIngress, label.listenerZoneEgress],
]);

/** Whether the proxy chose a label with its value. */
export function isLabelOfProxy({ labels, status = {} }: Row, key: string): boolean {
  const value = labels[key];
  return value !== undefined && partsIn(status).labels[key] === value;
}

/** The roles of a Dataplane that its proxy chose. */
export function rolesOfProxy({ spec, status = {} }: Row): ZoneRole[] {
  const { roles } = partsIn(status);
  return zoneRolesOf(spec).filter((role) => roles.includes(role));
}

/**
 * The status of a Dataplane that a proxy brings. What the stored row has by an administrator is no choice of the proxy.
 * @param stored null if there is none
 */
export function broughtStatus(given: Pick<Resource, 'labels' | 'spec'>, stored: Row | null): JsonObject {
  const isWritten = (key: string): boolean =>
    stored !== null && stored.labels[key] === given.labels[key] && !isLabelOfProxy(stored, key);
  const written = stored === null ? [] : zoneRolesOf(stored.spec).filter((role) => !rolesOfProxy(stored).includes(role));
  const labels = Object.fromEntries(Object.entries(given.labels).filter(([key]) => !COMPUTED.has(key) && !isWritten(key)));
  const roles = zoneRolesOf(given.spec).filter((role) => !written.includes(role));
  const { [BROUGHT]: _before, ...others } = stored?.status ?? {};
  const isNothing = Object.keys(labels).length === 0 && roles.length === 0;
  return isNothing ? others : { ...others, [BROUGHT]: { labels, roles } };
}

function partsIn(status: JsonObject): { readonly labels: Labels; readonly roles: readonly string[] } {
  const { labels, roles } = objectOf(status[BROUGHT]);
  return { labels: textMapOf(labels), roles: Array.isArray(roles) ? roles.map(textOf) : [] };
}
