// Chooses the rule that applies to an outbound, or to one of its routes (policies 3.5, D13).
// Invariant: only the first key with a conf is used; nothing is merged here.
import type { JsonObject } from '../resource/types.ts';
import type { TypeRules } from './build-rules.ts';
import type { Contribution } from './resource-rules.ts';
import { hasRouteFields } from './route-fields.ts';

/** The kind of key that the conf comes from; `old route` is a policy whose top-level targetRef is the route (D14). */
export type ConfSource = 'route' | 'old route' | 'port' | 'service' | 'mesh';

export type ConfInForce = {
  readonly type: string;
  readonly source: ConfSource;
  /** Key of the rule. */
  readonly kri: string;
  readonly conf: readonly JsonObject[];
  /** Weakest first. */
  readonly contributions: readonly Contribution[];
};

/** KRIs of the service without section, of its port, of the mesh, and of the route if there is one. */
export type Destination = {
  readonly base: string;
  readonly section: string;
  readonly mesh: string;
  readonly route?: string | undefined;
};

/** The conf of one type in force on an outbound or one of its routes; null without one. */
export function confInForce(rules: TypeRules, { base, section, mesh, route }: Destination): ConfInForce | null {
  const { type } = rules;
  if (route !== undefined && hasRouteFields(type)) {
    const found = keyed(rules, 'route', route) ?? oldRule(rules, route, base, section);
    if (found !== null) return found;
  }
  return (
    (section === '' ? null : keyed(rules, 'port', base + section)) ?? keyed(rules, 'service', base) ?? keyed(rules, 'mesh', mesh)
  );
}

function keyed({ type, toRules }: TypeRules, source: ConfSource, kri: string): ConfInForce | null {
  const rule = toRules.get(kri);
  if (rule === undefined || !rule.conf.some(hasKeys)) return null;
  return { type, source, kri, conf: rule.conf, contributions: rule.contributions };
}

/** An old rule for this service has precedence over one for all services of the route. */
function oldRule({ type, oldRules }: TypeRules, route: string, base: string, section: string): ConfInForce | null {
  const ofRoute = oldRules.filter(({ kri, conf }) => kri === route && hasKeys(conf));
  for (const destination of [base + section, base, null]) {
    const rule = ofRoute.find((candidate) => candidate.destination === destination);
    if (rule !== undefined)
      return { type, source: 'old route', kri: route, conf: [rule.conf], contributions: rule.contributions };
  }
  return null;
}

function hasKeys(conf: JsonObject): boolean {
  return Object.keys(conf).length > 0;
}
