// The names that a proxy resolves: the hostnames of the services that it reaches at virtual addresses. Pure. Proxies with equal reach share
// one table.
import { compareText } from '../base/compare-text.ts';
import { perObject } from '../base/per-object.ts';
import type { DataplaneProxy } from '../policy/dataplane-proxy.ts';
import type { MeshIndex } from '../policy/mesh-index.ts';
import type { Outbound } from '../policy/outbounds.ts';
import { objectsOf, textOf } from '../resource/read-json.ts';
import { SERVICE_TYPES } from '../resource/type-registry.ts';
import type { Resource } from '../resource/types.ts';
import type { ConfigProblem } from './config-problem.ts';
import { virtualOutbounds } from './virtual-outbounds.ts';

/** The outbounds of a proxy at the virtual addresses of their services. */
export type NamedOutbounds = {
  /** By the name of the listener in Envoy. `address`: IPv4 or IPv6, as text. */
  readonly byPlace: ReadonlyMap<string, { readonly outbound: Pick<Outbound, 'resource' | 'base'>; readonly address: string }>;
};

export type Name = {
  /** Lower case, without a dot at its end. */
  readonly hostname: string;
  /** IPv4 or IPv6, as text. */
  readonly addresses: readonly string[];
  /** Names of the listeners behind it in Envoy, sorted. It leads somewhere when all of them listen. */
  readonly places: readonly string[];
};

/** By hostname. */
export type NameTable = ReadonlyMap<string, Name>;

/** What differs between two tables. */
export type NameChanges = { readonly put: readonly Name[]; readonly removed: readonly string[] };

export const NO_NAMES: NameTable = new Map();

/**
 * The names at these places. A hostname that several services have is that of the oldest one; of several of one age that of the first by type
 * and by name.
 * @param outbounds the same object gives the same table
 */
export function nameTable(outbounds: NamedOutbounds): NameTable {
  return namesAt(outbounds).table;
}

/** The hostnames that several services have. Within one type a zone gives each to one service (policies 9.5). */
export function contestedNames(outbounds: NamedOutbounds): readonly ConfigProblem[] {
  return namesAt(outbounds).contested;
}

type Holder = { readonly base: string; readonly resource: Resource };

const namesAt = perObject(({ byPlace }: NamedOutbounds): { table: NameTable; contested: readonly ConfigProblem[] } => {
  const services = Map.groupBy(byPlace, ([, { outbound }]) => outbound.resource);
  const holders = new Map<string, Holder>();
  const table = new Map<string, Name>();
  const contested: ConfigProblem[] = [];
  for (const [resource, places] of services) {
    const service = { base: places[0]?.[1].outbound.base ?? '', resource };
    for (const name of namesOfService(resource, places)) {
      const other = holders.get(name.hostname);
      const isHeld = other !== undefined && byPrecedence(other.resource, resource) < 0;
      if (other !== undefined)
        contested.push(contestOf(name.hostname, ...((isHeld ? [other, service] : [service, other]) as [Holder, Holder])));
      if (isHeld) continue;
      holders.set(name.hostname, service);
      table.set(name.hostname, name);
    }
  }
  return { table, contested };
});

function contestOf(hostname: string, holder: Holder, other: Holder): ConfigProblem {
  const reason = `${hostname} is a name of ${holder.base}, and does not lead to ${other.base}, which has it too`;
  return { policy: null, field: 'networking.transparentProxying', reason };
}

/** The names of a proxy of this index; none where the connections of its application are not redirected. */
export function namesOf(index: MeshIndex, proxy: DataplaneProxy): NameTable {
  const outbounds = virtualOutbounds(index, proxy);
  return outbounds === null ? NO_NAMES : nameTable(outbounds);
}

/** The hostnames of a service, as its zone has computed them. @param service a row of `SERVICE_TYPES` */
export function hostnamesOf({ status }: Pick<Resource, 'status'>): string[] {
  const hostnames = objectsOf(status['addresses']).map(({ hostname }) => textOf(hostname).toLowerCase().replace(/\.$/, ''));
  return [...new Set(hostnames)].filter((hostname) => hostname !== '');
}

/** Negative: the first holds a name that both have. */
export function byPrecedence(a: Resource, b: Resource): number {
  const age = a.creationTime.getTime() - b.creationTime.getTime();
  return age || typeOrder(a) - typeOrder(b) || compareText(a.name, b.name);
}

function typeOrder({ type }: Resource): number {
  return SERVICE_TYPES.findIndex((service) => service === type);
}

/** The last names of a service: most changes of a mesh touch other services. */
const known = new WeakMap<Resource, { readonly key: string; readonly names: readonly Name[] }>();

function namesOfService(
  service: Resource,
  listening: readonly (readonly [place: string, { readonly address: string }])[],
): readonly Name[] {
  const places = listening.map(([place]) => place);
  if (places.length > 1) places.sort(compareText);
  const [first = ''] = places;
  const key = places.length === 1 ? first : places.join(' ');
  const last = known.get(service);
  if (last?.key === key) return last.names;
  const addresses = [...new Set(listening.map(([, { address }]) => address))].sort(compareText);
  const names = hostnamesOf(service).map((hostname) => ({ hostname, addresses, places }));
  known.set(service, { key, names });
  return names;
}

/** What leads from one table to the next. Tables are shared, and so are their differences. */
export function nameChanges(before: NameTable, after: NameTable): NameChanges {
  if (before === after) return NO_CHANGES;
  const next = changes.get(before) ?? new WeakMap<NameTable, NameChanges>();
  changes.set(before, next);
  let found = next.get(after);
  if (found === undefined) {
    const put = [...after.values()].filter((name) => !isSameName(before.get(name.hostname), name));
    found = { put, removed: [...before.keys()].filter((hostname) => !after.has(hostname)) };
    next.set(after, found);
  }
  return found;
}

const NO_CHANGES: NameChanges = { put: [], removed: [] };
const changes = new WeakMap<NameTable, WeakMap<NameTable, NameChanges>>();

function isSameName(one: Name | undefined, other: Name): boolean {
  if (one === undefined || one === other) return one === other;
  return isSameList(one.addresses, other.addresses) && isSameList(one.places, other.places);
}

function isSameList(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((text, at) => text === other[at]);
}
