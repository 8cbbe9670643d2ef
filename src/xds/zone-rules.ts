// The `rules[]` of a zone listener, as one of its filter chains has them. A chain is for the clients of one port of a service, which
// may ask by either of two server names: whether a rule is about the port is decided here, and not in Envoy.
import type { ProxyRules } from '../policy/build-rules.ts';
import type { Section } from '../policy/dataplane-proxy.ts';
import { catchAllConf } from '../policy/inbound-rules.ts';
import { mergeConfs } from '../policy/merge-conf.ts';
import { CLIENT_LISTS } from '../policies/mesh-traffic-permission/spec.ts';
import type { Conf, Confs } from '../policies/confs.ts';
import { computedOnce, type ConfsInForce } from '../policies/parts.ts';
import type { InboundMatch } from '../schema/inbound-match.ts';
import type { JsonObject } from '../resource/types.ts';
import { EVERYONE } from '../envoy/client-match.ts';
import { fieldOf } from './config-problem.ts';
import type { PermissionRule } from '../policies/mesh-traffic-permission/clients.ts';
import { usableConf } from './usable-conf.ts';
import { usableRules, type Report, type UsableRule } from './usable-policies.ts';

/** The rules of one type on one chain. */
export type ChainRules<T extends keyof Confs> = {
  /** For some clients. No match names a server. */
  readonly byClient: readonly UsableRule<T>[];
  /** For every client of this port, weakest first. */
  readonly named: readonly UsableRule<T>[];
  /** For every client of every port, weakest first. */
  readonly common: readonly UsableRule<T>[];
};

/** The usable rules of a listener. */
export class ListenerRules {
  readonly #rules: ProxyRules;
  readonly #section: Section;
  readonly #report: Report;

  constructor(rules: ProxyRules, section: Section, report: Report) {
    this.#rules = rules;
    this.#section = section;
    this.#report = report;
  }

  all<T extends keyof Confs>(type: T): readonly UsableRule<T>[] {
    const ofType = this.#rules.types.find((candidate) => candidate.type === type);
    const found = ofType?.inboundRules.find(({ section }) => section === this.#section)?.rules ?? [];
    return usableRules(type, found, this.#report);
  }

  /** @param snis the server names of the chain; empty: a chain for ports that no rule names */
  chain<T extends keyof Confs>(type: T, snis: readonly string[]): ChainRules<T> {
    const rules = this.all(type);
    const mine = rules.filter(({ match }) => match?.sni !== undefined && snis.includes(match.sni.value));
    const anywhere = rules.filter(({ match }) => match?.sni === undefined);
    const withoutName = mine.map((rule) => ({ ...rule, match: clientOf(rule.match) }));
    return {
      byClient: [...withoutName, ...anywhere].filter(({ match }) => match !== null),
      named: withoutName.filter(({ match }) => match === null),
      common: anywhere.filter(({ match }) => match === null),
    };
  }

  /**
   * The usable conf for every client of a chain: that of rules which name the port lies over that of the others (xds 3.3). Two good
   * confs may merge into a bad one.
   */
  conf<T extends keyof Confs>(type: T, snis: readonly string[]): Conf<T> {
    const { named, common } = this.chain(type, snis);
    const merged = mergeConfs([catchAllConf(common), ...named.map(({ conf }) => conf)]);
    const [last] = named.slice(-1);
    // What was left out of the rules is reported there.
    if (last === undefined || Object.keys(merged).length === 0) return merged;
    const { conf, refused } = usableConf(type, 'rules', merged as JsonObject);
    for (const { path, reason } of refused)
      this.#report({ policy: last.policy.kri, field: fieldOf('rules', last.index, path), reason });
    return conf ?? {};
  }

  /** `conf` for every type. */
  confsOf(snis: readonly string[]): ConfsInForce {
    return computedOnce((type) => this.conf(type, snis));
  }
}

/** The rules for clients, the most specific first. */
export function chainFilters<T extends keyof Confs>({ byClient, named, common }: ChainRules<T>): UsableRule<T>[] {
  return [...byClient, ...named, ...common];
}

/** MeshTrafficPermission rules whose clients are those of one chain: a client may name its server too. */
export function permissionsOn(rules: readonly PermissionRule[], snis: readonly string[]): PermissionRule[] {
  const clients = (given: readonly InboundMatch[] = []): InboundMatch[] =>
    given.flatMap((client) => {
      if (client.sni === undefined) return [client];
      if (!snis.includes(client.sni.value)) return [];
      return [clientOf(client) ?? EVERYONE];
    });
  return rules.map((rule) => ({ ...rule, conf: Object.fromEntries(CLIENT_LISTS.map((key) => [key, clients(rule.conf[key])])) }));
}

/** The server names in the matches of rules. */
export function namedServers(rules: readonly { readonly match: InboundMatch | null }[]): string[] {
  return rules.flatMap(({ match }) => match?.sni?.value ?? []);
}

/** A match without its server name; null where it named nothing else. */
function clientOf(match: InboundMatch | null): InboundMatch | null {
  const { sni: _sni, ...rest } = match ?? {};
  return Object.keys(rest).length === 0 ? null : rest;
}
