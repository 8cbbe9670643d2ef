// The way in which each zone reaches a service, or the reason why it does not: the answer of `meridian inspect service`. Pure.
// Invariant: every zone has exactly one line for each service, or one for each port that other zones can reach.
import { displayNameOf, label } from '../../resource/labels.ts';
import { at, items } from '../../resource/json-access.ts';
import { objectOf } from '../../resource/read-json.ts';
import { isMember } from '../../resource/service-members.ts';
import { ingressesOf, sniAcrossZones } from '../../resource/service-reach.ts';
import type { Json, JsonObject } from '../../resource/types.ts';
import type { Item } from '../client/api-client.ts';
import { placeText } from './mesh-service-columns.ts';

/** @property unheard why what is known of the zone may be old; `''` if it is current */
export type ZoneFacts = { readonly name: string; readonly isEnabled: boolean; readonly unheard: string };

export type ReachFacts = {
  /** The zones of the answer. A zone knows only itself. */
  readonly zones: readonly ZoneFacts[];
  /** The name of the asked zone; null for a global. */
  readonly asked: string | null;
  /** The MeshZoneAddresses of the mesh. */
  readonly addresses: readonly Item[];
};

export type ReachLine = {
  readonly service: string;
  /** The zone of the service; `-` for one without a zone. */
  readonly home: string;
  readonly from: string;
  readonly how: 'local' | 'through ingress' | 'through egress' | 'not at all' | 'not known here';
  readonly address: string;
  readonly sni: string;
  /** The problem and its remedy, or another note; `''` without either. */
  readonly why: string;
};

type Answer = Pick<ReachLine, 'how' | 'why'> & Partial<Pick<ReachLine, 'address' | 'sni'>>;

/** The lines of a MeshService. */
export function meshServiceReach(service: Item, facts: ReachFacts): ReachLine[] {
  const home = service.labels?.[label.zone] ?? facts.asked ?? '-';
  return facts.zones.flatMap(({ name: from }) => {
    const answers = from === home ? [locally(service)] : fromOutside(service, home, facts);
    return answers.map((answer) => lineOf(service, home, from, unlessOld(answer, [from, home], facts)));
  });
}

/** The lines of a MeshExternalService. Each zone uses its own egress, and does not publish it (D22). */
export function externalServiceReach(service: Item, { zones, asked }: ReachFacts): ReachLine[] {
  return zones.map(({ name: from }) =>
    lineOf(service, service.labels?.[label.zone] ?? '-', from, throughEgress(service, from, asked)),
  );
}

/** The MeshServices of the mesh that a MeshMultiZoneService selects. */
export function servicesBehind(service: Item, candidates: readonly Item[]): Item[] {
  return candidates.filter(({ labels = {} }) => isMember(objectOf(service['spec']), labels));
}

/** An answer from a zone that is not connected is its last state. The asked zone knows itself. */
function unlessOld(answer: Answer, names: readonly string[], { zones, asked }: ReachFacts): Answer {
  const why = zones.find(({ name, unheard }) => name !== asked && names.includes(name) && unheard !== '')?.unheard;
  if (why === undefined || answer.how === 'not at all') return answer;
  return { ...answer, how: 'not known here', why: `${why}: this was its last state` };
}

function locally({ spec, status }: Item): Answer {
  const [healthy, total] = ['healthy', 'total'].map((key) => Number(at(status, `dataplaneProxies.${key}`) ?? 0));
  if (items(at(spec, 'ports')).length === 0) return { how: 'not at all', why: NO_PORTS };
  if (total === 0) return { how: 'not at all', why: 'its selector finds no Dataplane with inbounds' };
  if (healthy === 0) return { how: 'not at all', why: `all of its ${String(total)} proxies are unhealthy` };
  return { how: 'local', why: `${String(healthy)} of ${String(total)} proxies healthy` };
}

function fromOutside(service: Item, home: string, { zones, addresses }: ReachFacts): Answer[] {
  const ports = items(at(service['spec'], 'ports')).flatMap((port) => portOf(port));
  if (ports.length === 0) return [{ how: 'not at all', why: NO_PORTS }];
  if (service.labels?.[label.kdsSync] === 'disabled')
    return [{ how: 'not at all', why: `it stays in zone ${home}: its label ${label.kdsSync} is disabled` }];
  if (zones.some(({ name, isEnabled }) => name === home && !isEnabled))
    return [{ how: 'not at all', why: `zone ${home} is disabled, and so its services are taken out of the others` }];
  const ingresses = ingressesOf(rowOf(service), addresses.map(rowOf));
  if (ingresses.length === 0)
    return [
      { how: 'not at all', why: `zone ${home} has no ready ingress: give a Dataplane of its mesh there networking.zoneIngress` },
    ];
  const address = ingresses.map((place) => placeText(place)).join(', ');
  if (at(service['spec'], 'state') === 'Unavailable')
    return [{ how: 'not at all', why: `no proxy in zone ${home} is healthy`, address }];
  return ports.map((port) => ({ how: 'through ingress', why: '', address, sni: sniAcrossZones(rowOf(service), port) ?? '' }));
}

function throughEgress({ status }: Item, from: string, asked: string | null): Answer {
  const egress = at(status, 'zoneEgress');
  if (asked === null)
    return { how: 'not known here', why: `a zone does not publish its egress: ask the control plane of ${from}` };
  if (egress !== undefined)
    return { how: 'through egress', why: '', address: placeText(egress), sni: String(at(egress, 'sni') ?? '') };
  return { how: 'not at all', why: `zone ${from} has no ready egress: give a Dataplane of its mesh networking.zoneEgress` };
}

const NO_PORTS = 'it has no ports';

function lineOf(service: Item, home: string, from: string, { how, why, address = '', sni = '' }: Answer): ReachLine {
  return { service: displayNameOf(rowOf(service)), home, from, how, address, sni, why };
}

function rowOf({ type, mesh = '', name, labels = {}, spec }: Item): Parameters<typeof sniAcrossZones>[0] {
  return { type, mesh, name, labels, spec: (spec ?? {}) as JsonObject };
}

function portOf(given: Json): { port: number; section: string }[] {
  const [port, name] = [at(given, 'port'), at(given, 'name')];
  if (typeof port !== 'number') return [];
  return [{ port, section: typeof name === 'string' && name !== '' ? name : String(port) }];
}
