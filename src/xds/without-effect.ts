// Policies without an effect on a proxy that they match: they need an identity, or transparent proxying (xds 3.3, 3.5, 6). They are
// reported, because a permission that is not enforced looks like an enforced one.
import type { ProxyRules } from '../policy/build-rules.ts';
import type { MeshIndex } from '../policy/mesh-index.ts';
import { fieldsNotLed, onlyLeads, whyNotLed } from '../policy/zone-proxy-reach.ts';
import { isObject, objectOf } from '../resource/read-json.ts';
import { PERMITTING_LISTS } from '../policies/mesh-traffic-permission/spec.ts';
import type { JsonObject } from '../resource/types.ts';
import { isEmptyMatch } from '../envoy/client-match.ts';
import { fieldOf } from './config-problem.ts';
import type { ProxyTls } from './proxy-tls.ts';
import { redirectsOutbounds } from '../policy/transparent-proxying.ts';
import type { Report } from './usable-policies.ts';

type Judged = { readonly index: MeshIndex; readonly rules: ProxyRules; readonly tls: ProxyTls | null };

const FOR_CLIENTS = 'has no effect on a zone egress: it is for the proxies that send the requests';

/** Reports them, each policy once. */
export function reportWithoutEffect({ index, rules, tls }: Judged, report: Report): void {
  const { proxy, types } = rules;
  const given = objectOf(proxy.resource.spec['networking'])['transparentProxying'];
  const why = isObject(given)
    ? 'networking.transparentProxying has no redirectPortOutbound'
    : 'the proxy has no transparent proxying';
  const hasPassthrough = redirectsOutbounds(proxy.resource);
  const direct = objectOf(given)['directAccessServices'];
  if (Array.isArray(direct) && direct.length > 0)
    report({
      policy: null,
      field: 'networking.transparentProxying.directAccessServices',
      reason: 'has no effect: name the addresses in a MeshPassthrough',
    });
  reportNotLed({ index, rules }, report);
  for (const { type, inboundRules, proxyRule } of types) {
    // A policy for all proxies may be on an ingress too, where there is nothing to permit.
    const inbounds = inboundRules.filter(({ section }) => section.kind !== 'ZoneIngress');
    const written = inbounds.flatMap((section) => [...section.rules, ...section.fromRules]);
    const fromRules = inbounds.flatMap((section) => section.fromRules);
    if (type === 'MeshTrafficPermission' && tls !== null)
      for (const { policy } of fromRules)
        report({ policy: policy.kri, field: 'spec.from', reason: 'is not enforced: name clients by SPIFFE ID in spec.rules' });
    if (type === 'MeshFaultInjection')
      for (const { policy, index } of fromRules)
        report({
          policy: policy.kri,
          field: `spec.from[${String(index)}].targetRef`,
          reason: 'has no effect: name clients by SPIFFE ID in spec.rules',
        });
    if (type === 'MeshTrafficPermission' && tls !== null)
      for (const { policy, index, conf } of inbounds.flatMap((section) => section.rules))
        for (const path of emptyPermissions(conf))
          report({ policy: policy.kri, field: fieldOf('rules', index, path), reason: 'permits no client: set spiffeID or sni' });
    if (type === 'MeshTrafficPermission' && tls === null)
      for (const { policy } of written)
        report({
          policy: policy.kri,
          field: policy.rules.length > 0 ? 'spec.rules' : 'spec.from',
          reason: 'is not enforced: the proxy has no identity, and without TLS clients cannot be identified',
        });
    if (type === 'MeshTLS' && tls === null)
      for (const { policy, index, conf } of written)
        if (conf['mode'] === 'Strict')
          report({
            policy: policy.kri,
            field: `spec.${policy.rules.length > 0 ? 'rules' : 'from'}[${String(index)}].default.mode`,
            reason: 'is not enforced: the proxy has no identity, and takes plain text',
          });
    if (type === 'MeshPassthrough' && !hasPassthrough)
      for (const { policy } of proxyRule?.contributions ?? [])
        report({ policy: policy.kri, field: 'spec.default', reason: `has no effect: ${why}` });
  }
}

/** The `to[]` of policies of a zone proxy alone that it does not follow. Those for the whole mesh have an effect on other proxies. */
function reportNotLed({ index, rules: { proxy, types } }: Omit<Judged, 'tls'>, report: Report): void {
  if (!onlyLeads(proxy)) return;
  for (const { type } of types)
    for (const policy of index.matching(type, proxy).selected.keys())
      for (const { targetRef, index: at, conf } of policy.to) {
        const why = whyNotLed(proxy, type, targetRef.kind);
        if (why !== null) report({ policy: policy.kri, field: `spec.to[${String(at)}]`, reason: why });
        else
          for (const path of fieldsNotLed(type, conf))
            report({ policy: policy.kri, field: fieldOf('to', at, path), reason: FOR_CLIENTS });
      }
}

/** The paths of the items of a MeshTrafficPermission that would permit clients, and name none. */
function emptyPermissions(conf: JsonObject): string[] {
  return PERMITTING_LISTS.flatMap((key) => {
    const clients = conf[key];
    if (!Array.isArray(clients)) return [];
    return clients.flatMap((client, at) => (isObject(client) && isEmptyMatch(client) ? [`${key}[${String(at)}]`] : []));
  });
}
