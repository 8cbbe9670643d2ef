// The generated MeshServices that a Dataplane belongs to, their ports, and the Dataplanes of each (policies 9.4). Invariant: a
// changed Dataplane changes only its own groups.
import { isDeepStrictEqual } from 'node:util';
import { label } from '../../resource/labels.ts';
import { RFC_1035_LABEL } from '../../resource/stored-name.ts';
import type { JsonObject, Labels } from '../../resource/types.ts';
import type { DataplaneFacts, Inbound } from './dataplane-facts.ts';

const SERVICE_TAG = 'kuma.io/service';
const PROTOCOLS = new Set(['tcp', 'http', 'http2', 'grpc']);

/** The part of a Dataplane that concerns one service. */
export type Membership = {
  /** The inbound tag `kuma.io/service` makes the membership, or the label `kuma.io/workload` if no inbound has that tag. */
  readonly by: 'tag' | 'workload';
  readonly service: string;
  /** The name of the Dataplane. */
  readonly name: string;
  readonly created: number;
  readonly ports: readonly JsonObject[];
};

/** The memberships with at least one port, in services with an RFC 1035 label as the name. Others are omitted. */
export function membershipsOf({ name, created, labels, inbounds }: DataplaneFacts): Membership[] {
  const tagged = Map.groupBy(inbounds, ({ tags }) => tags[SERVICE_TAG] ?? '');
  const byTag = inbounds.some(({ tags }) => tags[SERVICE_TAG] !== undefined);
  const groups = byTag ? tagged : new Map([[labels[label.workload] ?? '', inbounds]]);
  return [...groups].flatMap(([service, own]) => {
    const ports = portsOf(own);
    if (!RFC_1035_LABEL.test(service) || ports.length === 0) return [];
    return [{ by: byTag ? ('tag' as const) : ('workload' as const), service, name, created, ports }];
  });
}

/** The selector of the service for such a member. */
export function selectorOf(by: Membership['by'], service: string): JsonObject {
  const pair = (key: string): Labels => ({ [key]: service });
  return by === 'tag' ? { dataplaneTags: pair(SERVICE_TAG) } : { dataplaneLabels: { matchLabels: pair(label.workload) } };
}

/** The values of `kuma.io/service` on the inbounds (policies 9.3, identities of type ServiceTag). */
export function serviceTagsOf({ inbounds }: DataplaneFacts): string[] {
  return inbounds.flatMap(({ tags }) => tags[SERVICE_TAG] ?? []);
}

/** One port for each port number. Inbounds on several addresses may share a number, and the first counts. */
function portsOf(inbounds: readonly Inbound[]): JsonObject[] {
  const ports = new Map<number, JsonObject>();
  for (const { name, port, protocol } of inbounds) {
    if (port === 0 || ports.has(port)) continue;
    const appProtocol = PROTOCOLS.has(protocol) ? protocol : 'tcp';
    ports.set(port, { name: name === '' ? String(port) : name, port, targetPort: port, appProtocol });
  }
  return [...ports.values()];
}

/** The Dataplanes of each generated service of one mesh. */
export class ServiceGroups {
  readonly #members = new Map<string, Map<string, Membership>>();
  readonly #groupsOf = new Map<string, readonly string[]>();

  /** Replaces the services of a Dataplane. @returns the services that it belonged to or belongs to now; none if all are as before */
  put(dataplane: string, memberships: readonly Membership[]): Set<string> {
    const before = this.#groupsOf.get(dataplane) ?? [];
    const known = before.map((service) => this.#members.get(service)?.get(dataplane));
    if (isDeepStrictEqual(known, memberships)) return new Set();
    for (const service of before) {
      const members = this.#members.get(service);
      members?.delete(dataplane);
      if (members?.size === 0) this.#members.delete(service);
    }
    for (const membership of memberships) {
      const members = this.#members.get(membership.service) ?? new Map<string, Membership>();
      this.#members.set(membership.service, members.set(dataplane, membership));
    }
    const now = memberships.map(({ service }) => service);
    if (now.length === 0) this.#groupsOf.delete(dataplane);
    else this.#groupsOf.set(dataplane, now);
    return new Set([...before, ...now]);
  }

  /** The members of a service, in no particular order. */
  membersOf(service: string): Membership[] {
    return [...(this.#members.get(service)?.values() ?? [])];
  }

  services(): Iterable<string> {
    return this.#members.keys();
  }
}
