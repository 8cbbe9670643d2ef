// Rules of an inbound that name a server name. A port of a service has two of them, and a client asks by either: a rule that names one is
// about both (policies 1.3, 9.2).
import type { DataplaneProxy } from '../policy/dataplane-proxy.ts';
import type { InboundRule } from '../policy/inbound-rules.ts';
import type { MeshIndex } from '../policy/mesh-index.ts';
import { outboundsTo } from '../policy/outbounds.ts';
import type { Policy } from '../policy/parse-policy.ts';
import { isMemberOf } from '../policy/services.ts';
import { isObject, objectsOf } from '../resource/read-json.ts';
import type { InboundMatch } from '../schema/inbound-match.ts';
import { CLIENT_LISTS, type ClientList } from '../policies/mesh-traffic-permission/spec.ts';
import type { JsonObject } from '../resource/types.ts';
import { snisOf } from './zone-ports.ts';

/** The server names of the port that has this one, itself included. */
export type OtherNames = (sni: string) => Iterable<string>;

/** The server names of the services that have a proxy among their servers. They are looked up when a rule names one. */
export function serverNames(index: MeshIndex, proxy: DataplaneProxy): OtherNames {
  let known: ReadonlyMap<string, ReadonlySet<string>> | null = null;
  return (sni) => (known ??= namesOf(index, proxy)).get(sni) ?? [sni];
}

/** The lists of a MeshTrafficPermission; other confs have none of them. */
type ClientLists = { [key in ClientList]?: readonly InboundMatch[] };

/** The rules, with a copy for each server name of a port that a rule names by one. A connection has one name, so one copy fits. */
export function withServerNames<C extends object>(
  rules: readonly InboundRule<C, InboundMatch>[],
  others: OtherNames,
): InboundRule<C, InboundMatch>[] {
  if (!namesServer(rules)) return [...rules];
  return rules.flatMap((rule) => {
    const conf: ClientLists = { ...rule.conf };
    for (const key of CLIENT_LISTS)
      if (conf[key] !== undefined) conf[key] = conf[key].flatMap((client) => withNames(client, others));
    const matches = rule.match === null ? [null] : withNames(rule.match, others);
    return matches.map((match) => ({ ...rule, match, conf: conf as C }));
  });
}

/** Whether a rule names a server name, in its match or for its clients. */
export function namesServer(rules: readonly Pick<InboundRule<object, InboundMatch | JsonObject>, 'match' | 'conf'>[]): boolean {
  const clientsOf = (conf: { readonly [key in ClientList]?: unknown }): JsonObject[] =>
    CLIENT_LISTS.flatMap((key) => objectsOf(conf[key]));
  return rules.some(({ match, conf }) => hasName(match) || clientsOf(conf).some(hasName));
}

const remembered = new WeakMap<Policy, boolean>();

/** Whether a policy of the mesh has such a rule. */
export function meshNamesServer(index: MeshIndex): boolean {
  for (const policy of index.allPolicies()) {
    let names = remembered.get(policy);
    if (names === undefined) {
      const rules = policy.rules.flatMap(({ matches, conf }) => [
        { match: null, conf },
        ...matches.map((match) => ({ match, conf: {} })),
      ]);
      remembered.set(policy, (names = namesServer(rules)));
    }
    if (names) return true;
  }
  return false;
}

function hasName(match: InboundMatch | JsonObject | null): boolean {
  return isObject(match?.sni);
}

function withNames(match: InboundMatch, others: OtherNames): InboundMatch[] {
  const { sni } = match;
  return sni === undefined ? [match] : [...others(sni.value)].map((value) => ({ ...match, sni: { ...sni, value } }));
}

function namesOf(index: MeshIndex, proxy: DataplaneProxy): ReadonlyMap<string, ReadonlySet<string>> {
  const services = index.selections.servicesOf(proxy);
  const multiZone = [...index.resources('MeshMultiZoneService')].filter((service) =>
    services.some((member) => isMemberOf(service, member)),
  );
  const found = new Map<string, Set<string>>();
  for (const port of [...services, ...multiZone].flatMap((service) => outboundsTo(index, service))) {
    const names = snisOf(port);
    for (const name of names) found.set(name, new Set([...(found.get(name) ?? []), ...names]));
  }
  return found;
}
