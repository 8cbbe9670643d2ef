// The policies that match a proxy and set none of its values.
import type { Effective } from './effective.ts';

type Meta = {
  readonly type: string;
  readonly mesh: string;
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
};
type WithOrigins = { readonly origin?: readonly { readonly resourceMeta: Meta }[] };
export type Rules = {
  readonly rules: readonly {
    readonly type: string;
    readonly proxyRule?: { readonly origin: readonly Meta[] };
    readonly toResourceRules?: readonly WithOrigins[];
    readonly inboundRules?: readonly { readonly rules: readonly WithOrigins[] }[];
  }[];
};

/** `stored`: its name on this control plane. */
export type Loser = { readonly type: string; readonly mesh: string; readonly name: string; readonly stored: string };

/** Type, mesh, zone, namespace and name: what a KRI and the labels of a resource both tell. A KRI has the zone whatever the origin. */
type Identity = string;

/** @returns null when the answer lacks outbounds: a policy may set a value there */
export function losersOf(effective: Effective, { rules }: Rules): readonly Loser[] | null {
  if (effective.total > effective.outbounds.length) return null;
  const winners = new Set(winnersIn(effective));
  const losers = new Map<string, Loser>();
  for (const { type, proxyRule, toResourceRules = [], inboundRules = [] } of rules) {
    // A route is in force as a whole, or not at all, and is listed with its conf.
    if (type.endsWith('Route')) continue;
    const others = [...toResourceRules, ...inboundRules.flatMap((inbound) => inbound.rules)].flatMap(({ origin = [] }) => origin);
    for (const meta of [...(proxyRule?.origin ?? []), ...others.map(({ resourceMeta }) => resourceMeta)]) {
      const identity = identityOf(meta);
      if (winners.has(identity)) continue;
      const { mesh, name: stored } = meta;
      losers.set(identity, { type, mesh, name: displayName(meta), stored });
    }
  }
  return [...losers.values()];
}

function winnersIn({ policies, inbounds, outbounds }: Effective): Identity[] {
  const onInbounds = inbounds.flatMap((inbound) =>
    inbound.policies.flatMap(({ kind, inForce }) => inForce.map(({ values }) => ({ kind, values }))),
  );
  const onOutbounds = outbounds.flatMap((outbound) => [outbound, ...outbound.routes].flatMap((one) => one.policies));
  return [...policies, ...onInbounds, ...onOutbounds].flatMap(({ kind, values }) =>
    values.flatMap(({ origins }) => origins.map(({ kri }) => identityOfKri(kind, kri))),
  );
}

function identityOfKri(type: string, kri: string): Identity {
  const [, , mesh = '', zone = '', namespace = '', name = ''] = kri.split('_');
  return JSON.stringify([type, mesh, zone, namespace, name]);
}

function identityOf(meta: Meta): Identity {
  const { type, mesh, labels = {} } = meta;
  const { 'kuma.io/zone': zone = '', 'k8s.kuma.io/namespace': namespace = '' } = labels;
  return JSON.stringify([type, mesh, zone, namespace, displayName(meta)]);
}

function displayName({ name, labels = {} }: Meta): string {
  return labels['kuma.io/display-name'] ?? name;
}
