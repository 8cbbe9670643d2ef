// The listeners of a zone proxy: those of an ingress and those of an egress (xds 5, MADR 095).
import { isIP } from 'node:net';
import type { DataplaneProxy } from '../policy/dataplane-proxy.ts';
import { placeName } from './listener-place.ts';
import { zoneListenerName } from './names.ts';
import { extension, given, socketAddress } from '../envoy/proto-json.ts';
import type { ProxyConfig } from './proxy-context.ts';
import { inboundAddressProblem } from './socket-address.ts';
import { reportTo, type Report } from './usable-policies.ts';
import type { ZoneContext } from './zone-chain.ts';
import { zonePlaces } from './zone-places.ts';
import type { ZonePort } from './zone-ports.ts';
import { egressChains } from './zone-egress.ts';
import { ingressChains } from './zone-ingress.ts';
import { ListenerRules } from './zone-rules.ts';

const NO_NAMES: ReadonlyMap<string, string> = new Map();

const TLS_INSPECTOR = extension(
  'envoy.filters.listener.tls_inspector',
  'extensions.filters.listener.tls_inspector.v3.TlsInspector',
);

/** Adds the listeners of a zone proxy. The clusters of its ports are parts of their own. */
export function addZoneListeners(config: ProxyConfig, context: ZoneContext): void {
  const { rules, features } = context;
  const report = reportTo(config.problems);
  for (const { section, field, address } of zonePlaces(rules.proxy)) {
    const problem = inboundAddressProblem(address, section.port);
    if (problem !== null) {
      report({ ...problem, field: `${field}.${isIP(address) === 0 ? 'address' : 'port'}` });
      continue;
    }
    const name = zoneListenerName(section);
    const listener = { section, name, field, rules: new ListenerRules(rules, section, report), report };
    const filterChains =
      section.kind === 'ZoneIngress' ? ingressChains(context, listener) : egressChains(config, context, listener);
    // Envoy refuses a listener without chains.
    if (filterChains.length === 0) continue;
    config.listeners.set(
      name,
      given({
        name,
        address: socketAddress(address, section.port),
        statPrefix: name,
        filterChains,
        listenerFilters: [TLS_INSPECTOR],
        trafficDirection: 'INBOUND',
        enableReusePort: features.reusePort,
      }),
    );
  }
}

/** The names that the zone listeners of a Dataplane had in an Envoy before their places were their names, by these. */
export function formerZoneListeners(proxy: DataplaneProxy): ReadonlyMap<string, string> {
  const places = zonePlaces(proxy);
  if (places.length === 0) return NO_NAMES;
  return new Map(places.map(({ section, address }) => [placeName(address, section.port), zoneListenerName(section)]));
}

/** Says which server names of a port are those of an older service. */
export function reportTaken(
  { rules }: Pick<ZoneContext, 'rules'>,
  { kind, outbound, snis, taken }: ZonePort,
  report: Report,
): void {
  const place = zonePlaces(rules.proxy).find(({ section }) => section.kind === kind);
  const rest = snis.length > 0 ? `it is open as ${snis.join()}` : 'give one of them another name';
  for (const { sni, by } of taken)
    report({
      policy: null,
      field: place?.field ?? 'networking',
      reason: `does not open ${outbound.kri} as ${sni}: the older ${by.kri} has this server name; ${rest}`,
    });
}
