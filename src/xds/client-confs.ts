// Confs for single clients of an HTTP listener: a copy of its route for each, which matches the SPIFFE ID of the client (policies 6, xds 3.3).
// A route sees no certificate, so a network filter keeps the ID from the TLS handshake.
import { catchAllConf } from '../policy/inbound-rules.ts';
import { mergeConf } from '../policy/merge-conf.ts';
import { isObject } from '../resource/read-json.ts';
import type { Conf, Confs } from '../policies/confs.ts';
import { DIFFER_BY_CLIENT } from '../policies/parts.ts';
import type { InboundMatch } from '../schema/inbound-match.ts';
import type { JsonObject } from '../resource/types.ts';
import { fieldOf } from './config-problem.ts';
import { extension } from '../envoy/proto-json.ts';
import { usableConf } from './usable-conf.ts';
import { reportMatches, type Report, type UsableRule } from './usable-policies.ts';

const CLIENT_ID = 'meridian.client.spiffe_id';

/** Keeps the SPIFFE ID of the client for the routes. */
export const clientIdFilter: JsonObject = extension(
  'envoy.filters.network.set_filter_state',
  'extensions.filters.network.set_filter_state.v3.Config',
  {
    onDownstreamTlsHandshake: [
      {
        ...{ objectKey: CLIENT_ID, factoryKey: 'envoy.string', readOnly: true, skipIfEmpty: true },
        formatString: { textFormatSource: { inlineString: '%DOWNSTREAM_PEER_URI_SAN%' } },
      },
    ],
  },
);

/** Clients of one listener, as the matches of `rules[]` name them. */
export type Clients = { readonly isPrefix: boolean; readonly value: string };

/** The rules of one type on a listener: those for some clients, and the conf for everybody. */
export type ClientRules<T extends keyof Confs> = { readonly byClient: readonly UsableRule<T>[]; readonly common: Conf<T> };

/** The types whose confs may differ by client, on a listener. */
export type RulesByClient = {
  /** The clients that rules name, in the order in which routes ask for them. */
  readonly clients: readonly Clients[];
  /** The conf for everybody; null for a type that does not differ. */
  readonly common: <T extends keyof Confs>(type: T) => Conf<T> | null;
  /** The conf for some clients; null for a type that does not differ. */
  readonly confOf: <T extends keyof Confs>(type: T, clients: Clients, report: Report) => Conf<T> | null;
};

/** Of a listener that cannot tell clients apart. */
export const NO_RULES_BY_CLIENT: RulesByClient = { clients: [], common: () => null, confOf: () => null };

/** The rules of the types that may differ by client. A path that cannot is reported. */
export function rulesByClient(
  rulesOf: <T extends keyof Confs>(type: T) => readonly UsableRule<T>[],
  report: Report,
): RulesByClient {
  const known = new Map<keyof Confs, ClientRules<keyof Confs>>();
  for (const [type, paths] of DIFFER_BY_CLIENT) {
    const rules = clientRules(rulesOf(type), report);
    reportCommonPaths(rules, paths, report);
    known.set(type, rules);
  }
  const ofType = <T extends keyof Confs>(type: T): ClientRules<T> | undefined => known.get(type) as ClientRules<T> | undefined;
  return {
    clients: clientsOf(...known.values()),
    common: (type) => ofType(type)?.common ?? null,
    confOf(type, clients, report) {
      const rules = ofType(type);
      return rules === undefined ? null : clientConf(type, rules, clients, report);
    },
  };
}

/** The usable rules of an inbound. A client cannot be known by a server name. */
export function clientRules<T extends keyof Confs>(rules: readonly UsableRule<T>[], report: Report): ClientRules<T> {
  const byClient = rules.filter(({ match }) => match?.spiffeID !== undefined && match.sni === undefined);
  const others = rules.filter((rule) => rule.match !== null && !byClient.includes(rule));
  reportMatches(others, 'has no effect on an inbound: its clients differ by spiffeID alone', report);
  return { byClient, common: catchAllConf(rules) };
}

/** The clients that rules name, in the order in which routes ask for them: exact IDs, then prefixes, the longest first. */
export function clientsOf(...types: readonly Pick<ClientRules<keyof Confs>, 'byClient'>[]): Clients[] {
  const all = types.flatMap(({ byClient }) => byClient.map(clientsOfRule));
  const unique = new Map(all.map((clients) => [`${String(clients.isPrefix)} ${clients.value}`, clients]));
  return [...unique.values()].sort(
    (a, b) => Number(a.isPrefix) - Number(b.isPrefix) || b.value.length - a.value.length || (a.value < b.value ? -1 : 1),
  );
}

/** The match of the route for some clients. */
export function clientsMatch({ isPrefix, value }: Clients): JsonObject {
  return { prefix: '/', filterState: [{ key: CLIENT_ID, stringMatch: isPrefix ? { prefix: value } : { exact: value } }] };
}

/**
 * The usable conf for some clients: that of the most specific rules for them lies over the conf for everybody. Two good confs may merge into a
 * bad one.
 * @param type of the policies
 */
export function clientConf<T extends keyof Confs>(
  type: T,
  { byClient, common }: ClientRules<T>,
  clients: Clients,
  report: Report,
): Conf<T> {
  const covering = byClient.filter((rule) => covers(clientsOfRule(rule), clients));
  const [first] = clientsOf({ byClient: covering });
  if (first === undefined) return common;
  const isFirst = (rule: UsableRule<T>): boolean => isSame(clientsOfRule(rule), first);
  const rules = covering.filter(isFirst);
  const merged = rules.reduce((conf, rule) => mergeConf(conf, rule.conf), common);
  // What was left out of the rules is reported there.
  if (Object.keys(merged).length === 0) return merged;
  const { conf, refused } = usableConf(type, 'rules', merged as JsonObject);
  for (const { policy, index } of rules.slice(-1))
    for (const { path, reason } of refused) report({ policy: policy.kri, field: fieldOf('rules', index, path), reason });
  return conf ?? common;
}

/** Reports what rules for some clients have and a listener has in common. @param paths those that may differ */
export function reportCommonPaths({ byClient }: ClientRules<keyof Confs>, paths: ReadonlySet<string>, report: Report): void {
  for (const { conf, policy, index } of byClient)
    for (const [key, part] of Object.entries(conf))
      for (const path of isObject(part) ? Object.keys(part).map((name) => `${key}.${name}`) : [key])
        if (!paths.has(path))
          report({
            policy: policy.kri,
            field: fieldOf('rules', index, path),
            reason: 'has no effect: it is the same for all clients',
          });
}

function clientsOfRule({ match }: { readonly match: InboundMatch | null }): Clients {
  return { isPrefix: match?.spiffeID?.type === 'Prefix', value: match?.spiffeID?.value ?? '' };
}

function covers(rule: Clients, clients: Clients): boolean {
  return rule.isPrefix ? clients.value.startsWith(rule.value) : isSame(rule, clients);
}

function isSame(one: Clients, other: Clients): boolean {
  return one.isPrefix === other.isPrefix && one.value === other.value;
}
