// The facts of a Dataplane that services need, read once for each change (policies 9.1, 9.3, 9.4, D15, D17, D20).
// Invariant: equal facts give equal services.
import { dataplaneMatcher, type SelectableDataplane } from '../../policy/dataplane-selector.ts';
import { isObject, numberOf, objectOf, objectsOf, textMapOf, textOf } from '../../resource/read-json.ts';
import { leftPlaces, sectionPlaces } from '../../resource/section-places.ts';
import { placeText } from '../../resource/zone-listeners.ts';
import { displayNameOf } from '../../resource/labels.ts';
import type { JsonObject, Labels, Resource } from '../../resource/types.ts';

export type Inbound = {
  /** The name as written, `''` when it has none. */
  readonly name: string;
  readonly port: number;
  readonly protocol: string;
  readonly tags: Labels;
  readonly state: 'Ready' | 'NotReady' | 'Ignored';
};

/** The address of a zone proxy's listener. */
export type Address = { readonly address: string; readonly port: number };

/** @property place as `placeText` writes it */
export type LeftPlace = { readonly place: string; readonly address: Address };

export type DataplaneFacts = {
  readonly name: string;
  readonly displayName: string;
  /** The time of its creation, in milliseconds since 1970. */
  readonly created: number;
  readonly labels: Labels;
  readonly inbounds: readonly Inbound[];
  /** The advertised address and port of `networking.zoneIngress`; null without a complete one. */
  readonly ingress: Address | null;
  /** The places where these listen, as `placeText` writes them; null without one. */
  readonly places: { readonly ingress: string | null; readonly egress: string | null };
  /** The places that these have left, the last one first: clients may still have their addresses. */
  readonly left: { readonly ingress: readonly LeftPlace[]; readonly egress: readonly LeftPlace[] };
  /**
   * The address and port of `networking.zoneEgress`, else of the first ready egress in `listeners`; null without a complete one.
   */
  readonly egress: Address | null;
};

export function dataplaneFacts(row: Resource): DataplaneFacts {
  const networking = objectOf(row.spec['networking']);
  const ingress = objectOf(networking['zoneIngress']);
  const [listed = {}] = objectsOf(networking['listeners']).filter(
    (one) => one['type'] === 'ZoneEgress' && stateOf(one) === 'Ready',
  );
  const egress = isObject(networking['zoneEgress']) ? networking['zoneEgress'] : listed;
  return {
    name: row.name,
    displayName: displayNameOf(row),
    created: row.creationTime.getTime(),
    labels: row.labels,
    inbounds: objectsOf(networking['inbound']).map(inboundOf),
    // There is no fallback to networking.advertisedAddress (MADR 095, D17).
    ingress: addressOf(textOf(ingress['advertisedAddress']), numberOf(ingress['advertisedPort'])),
    egress: listeningAt(egress, networking),
    places: { ingress: textAt(listeningAt(ingress, networking)), egress: textAt(listeningAt(egress, networking)) },
    left: {
      ingress: leftBy(row, listeningAt(ingress, networking)),
      egress: leftBy(row, listeningAt(egress, networking)),
    },
  };
}

/** Whether a MeshService selects a Dataplane of its zone, as for proxies. */
export function selectorOf(service: Pick<Resource, 'labels' | 'spec'>): (dataplane: DataplaneFacts) => boolean {
  const selects = dataplaneMatcher(service);
  return (dataplane) => selects(selectable(dataplane));
}

/** A Dataplane as a MeshService selects it. */
export function selectable({ displayName, labels, inbounds }: DataplaneFacts): SelectableDataplane {
  return { displayName, labels, sections: inbounds };
}

function listeningAt(listener: JsonObject, networking: JsonObject): Address | null {
  return addressOf(textOf(listener['address']) || textOf(networking['address']), numberOf(listener['port']));
}

/** The place that a section has left. @param place the place where the section is now */
function leftBy(row: Resource, place: Address | null): LeftPlace[] {
  const left = leftPlaces(row);
  if (left.length === 0 || place === null) return [];
  const moved = sectionPlaces(row).find(({ bound }) => placeText(bound) === placeText(place))?.section;
  return left.flatMap(({ section, bound, reach }) =>
    section === moved && reach !== null ? [{ place: placeText(bound), address: reach }] : [],
  );
}

function textAt(place: Address | null): string | null {
  return place === null ? null : placeText(place);
}

function inboundOf(given: JsonObject): Inbound {
  const tags = textMapOf(given['tags']);
  return {
    name: textOf(given['name']),
    port: numberOf(given['port']),
    protocol: textOf(given['protocol']) || (tags['kuma.io/protocol'] ?? ''),
    tags,
    state: stateOf(given),
  };
}

/** `state`, and the older `health`: a field that exists without `ready: true` means not ready (kds-wire 4.2). */
function stateOf({ state, health }: JsonObject): Inbound['state'] {
  if (state === 'Ignored' || state === 'NotReady') return state;
  return health === undefined || objectOf(health)['ready'] === true ? 'Ready' : 'NotReady';
}

function addressOf(address: string, port: number): Address | null {
  return address === '' || port === 0 ? null : { address, port };
}
