// The outbounds of a proxy with the places at which its application calls them: those that its Dataplane declares, and those at virtual addresses.
import { isDeepStrictEqual } from 'node:util';
import { perObject } from '../base/per-object.ts';
import type { DataplaneProxy } from '../policy/dataplane-proxy.ts';
import type { MeshIndex } from '../policy/mesh-index.ts';
import type { Outbound } from '../policy/outbounds.ts';
import { serviceRefOf } from '../policy/target-ref.ts';
import { redirectsOutbounds } from '../policy/transparent-proxying.ts';
import { numberOf, objectOf, objectsOf, textOf } from '../resource/read-json.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import type { BackendResolver } from './backends.ts';
import type { ConfigProblem } from './config-problem.ts';
import { placeName } from './listener-place.ts';
import { contestedNames } from './name-table.ts';
import { ownPlaces } from './own-places.ts';
import { isVirtual } from './transparent-proxying.ts';
import { virtualOutbounds, type VirtualOutbounds } from './virtual-outbounds.ts';

/** @property isBound whether Envoy listens there itself; other places have redirected connections alone */
export type CalledPlace = { readonly address: string; readonly port: number; readonly isBound: boolean };

/** A port of a service, and the places at which the application of a proxy calls it. */
export type PlacedOutbound = {
  readonly outbound: Outbound;
  /** At least one. */
  readonly places: readonly CalledPlace[];
  /** Names the port with its places. */
  readonly key: string;
};

export type ListedOutbounds = {
  /** By KRI of the port. */
  readonly byKri: ReadonlyMap<string, PlacedOutbound>;
  readonly problems: readonly ConfigProblem[];
  /** Of the virtual ones; null where no connections are redirected. */
  readonly virtual: VirtualOutbounds | null;
  /** Of this object alone. */
  readonly serial: number;
};

/** Of a proxy without a view. */
export const NO_OUTBOUNDS: ListedOutbounds = { byKri: new Map(), problems: [], virtual: null, serial: 0 };

let serials = 0;

/**
 * The outbounds of a proxy. Proxies that reach and declare the same get the same object until a service changes.
 * @param proxy of this index
 */
export function listedOutbounds(index: MeshIndex, proxy: DataplaneProxy, resolver: BackendResolver): ListedOutbounds {
  const virtual = virtualOutbounds(index, proxy);
  if (virtual === null) return declaredAlone(index, proxy, resolver);
  const taken = [...ownPlaces(proxy)].filter(([place]) => virtual.byPlace.has(place));
  if (taken.length > 0) return listOf(declaredOutbounds(proxy, resolver), virtual, new Map(taken));
  const list = declarationList(proxy);
  const lists = sharedLists(virtual);
  const byPlace = lists.get(list) ?? new Map<string, ListedOutbounds>();
  const place = `${proxy.zone} ${proxy.namespace}`;
  const known = byPlace.get(place);
  if (known !== undefined) return known;
  const made = listOf(declaredOutbounds(proxy, resolver), virtual);
  lists.set(list, byPlace.set(place, made));
  return made;
}

/** The same object as long as its content is the same: each connected proxy holds one. */
function declaredAlone(index: MeshIndex, proxy: DataplaneProxy, resolver: BackendResolver): ListedOutbounds {
  const list = declarationList(proxy);
  if (!Array.isArray(list) || list.length === 0) return NO_OUTBOUNDS;
  const lists = declaredLists(index);
  const byPlace = lists.get(list) ?? new Map<string, KnownList>();
  lists.set(list, byPlace);
  const place = `${proxy.zone} ${proxy.namespace}`;
  const revision = index.serviceRevision;
  const known = byPlace.get(place);
  if (known?.revision === revision) return known.listed;
  const made = listOf(declaredOutbounds(proxy, resolver), null);
  const listed = known !== undefined && isSameList(known.listed, made) ? known.listed : made;
  byPlace.set(place, { revision, listed });
  return listed;
}

/** @property revision of the services of the index */
type KnownList = { readonly revision: number; readonly listed: ListedOutbounds };

/** By the list of declared outbounds, which equal Dataplanes have as one object, and by the place of the Dataplane. */
const declaredLists = perObject<MeshIndex, WeakMap<object, Map<string, KnownList>>>(() => new WeakMap());

function isSameList(one: ListedOutbounds, other: ListedOutbounds): boolean {
  return isDeepStrictEqual(one.problems, other.problems) && changedPorts(one, other).length === 0;
}

/** By the list of declared outbounds, and by the place of the Dataplane that has it. */
const sharedLists = perObject<VirtualOutbounds, Map<unknown, Map<string, ListedOutbounds>>>(() => new Map());

type Declared = { readonly outbounds: readonly PlacedOutbound[]; readonly problems: readonly ConfigProblem[] };

/** @param taken places that the proxy uses itself, with the field of `networking` that uses each */
function listOf(
  declared: Declared,
  virtual: VirtualOutbounds | null,
  taken: ReadonlyMap<string, string> = new Map(),
): ListedOutbounds {
  const byKri = new Map(declared.outbounds.map((placed) => [placed.outbound.kri, placed]));
  const problems = [...declared.problems, ...(virtual === null ? [] : [...virtual.problems, ...contestedNames(virtual)])];
  const users = new Map([...taken].map(([place, field]) => [place, `networking.${field}`]));
  for (const { outbound, places } of declared.outbounds)
    for (const { address, port } of places) users.set(placeName(address, port), `the declared outbound to ${outbound.kri}`);
  for (const [place, { outbound, address, port }] of virtual?.byPlace ?? []) {
    const user = users.get(place);
    const before = byKri.get(outbound.kri)?.places ?? [];
    if (user === undefined) byKri.set(outbound.kri, placed(outbound, [...before, { address, port, isBound: false }]));
    else if (!before.some((one) => placeName(one.address, one.port) === place))
      problems.push({
        ...{ policy: null, field: 'networking.transparentProxying', unlisted: outbound.kri },
        reason: `${outbound.kri} has no listener at its virtual address: ${user} uses ${place}`,
      });
  }
  return { byKri, problems, virtual, serial: (serials += 1) };
}

function placed(outbound: Outbound, places: readonly CalledPlace[]): PlacedOutbound {
  const texts = places.map(({ address, port, isBound }) => `${placeName(address, port)}${isBound ? '' : ' unbound'}`);
  return { outbound, places, key: [outbound.kri, ...texts].join(' ') };
}

/** The KRIs of the ports that differ between two lists. */
export function changedPorts(before: ListedOutbounds, after: ListedOutbounds): string[] {
  if (before === after) return [];
  const isSame = (kri: string): boolean => {
    const [one, other] = [before.byKri.get(kri), after.byKri.get(kri)];
    return one === other || (one?.outbound === other?.outbound && one?.key === other?.key);
  };
  return [...new Set([...before.byKri.keys(), ...after.byKri.keys()])].filter((kri) => !isSame(kri));
}

/** The declared outbounds that mean a port of a service, and the problems of the others. */
function declaredOutbounds(proxy: DataplaneProxy, resolver: BackendResolver): Declared {
  const isRedirected = redirectsOutbounds(proxy.resource);
  const problems: ConfigProblem[] = [];
  const services = new Map<string, number>();
  const places = new Map<string, string>();
  const found = new Map<string, PlacedOutbound>();
  for (const [at, given] of declarationsOf(proxy).entries()) {
    const item = `networking.outbound[${String(at)}]`;
    const report = (field: string, reason: string): void =>
      void problems.push({ policy: null, field: `${item}.${field}`, reason });
    const backendRef = serviceRefOf(given['backendRef']);
    const outbound = resolver.find(backendRef, proxy);
    if (outbound === undefined) {
      report('backendRef', `${resolver.whyNone(backendRef, proxy) ?? 'means no port'}: it has no listener`);
      continue;
    }
    const { address, port } = declaredPlace(given);
    const place = placeName(address, port);
    const user = places.get(place);
    if (user !== undefined) {
      report('port', `${place} is used by ${user} already: this one has no listener`);
      continue;
    }
    places.set(place, item);
    const other = services.get(outbound.kri);
    // Routes have the names of their services.
    if (other !== undefined) report('backendRef', `means the same port as outbound[${String(other)}], which has no listener`);
    services.set(outbound.kri, at);
    found.set(outbound.kri, placed(outbound, [{ address, port, isBound: !(isRedirected && isVirtual(address)) }]));
  }
  return { outbounds: [...found.values()], problems };
}

/** Where a declared outbound is called. */
export function declaredPlace(declaration: JsonObject): { readonly address: string; readonly port: number } {
  return { address: textOf(declaration['address']) || '127.0.0.1', port: numberOf(declaration['port']) };
}

export function declarationsOf(proxy: DataplaneProxy): readonly JsonObject[] {
  return objectsOf(declarationList(proxy));
}

/** `networking.outbound` as it stands in the row. */
export function declarationList(proxy: DataplaneProxy): Json | undefined {
  return objectOf(proxy.resource.spec['networking'])['outbound'];
}
