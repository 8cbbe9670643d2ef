// A zone ingress: it passes connections of other zones to the proxies of its own by their server name, and does not end TLS (xds 5).
// A connection finds its cluster by its server name, so a service that comes or goes changes no listener. A port with rules of its
// own has a filter chain of its own.
import type { JsonObject } from '../resource/types.ts';
import { zoneAssignment } from './endpoints.ts';
import { zoneResourceName } from './names.ts';
import { extension, FROM_ADS } from '../envoy/proto-json.ts';
import type { ProxyConfig } from './proxy-context.ts';
import { addPatched } from './proxy-patch.ts';
import { networkFilters } from '../policies/parts.ts';
import { ingressServers } from './servers.ts';
import { chainTcpProxy, type ZoneContext, type ZoneListener } from './zone-chain.ts';
import { zonePortsOfKind, type ZonePort } from './zone-ports.ts';
import { reportMatches } from './usable-policies.ts';
import { namedServers } from './zone-rules.ts';

const KIND = 'ZoneIngress';
/** The types with an effect on an ingress. */
const TYPES = ['MeshTimeout', 'MeshRateLimit', 'MeshAccessLog'] as const;

/** The filter chains of the listener: one for all ports without rules of their own, and one for each port that has some. */
export function ingressChains(context: ZoneContext, listener: ZoneListener): JsonObject[] {
  const { rules } = listener;
  const reason = 'has no effect on a zone ingress: it cannot identify clients';
  for (const type of TYPES) reportMatches(rules.chain(type, []).byClient, reason, listener.report);
  // A limit counts the connections of one chain: each port has its own.
  const isLimited = networkFilters(rules.confsOf([])).length > 0;
  const named = new Set(TYPES.flatMap((type) => namedServers(rules.all(type))));
  const ports = isLimited || named.size > 0 ? zonePortsOfKind(context.index, context.rules.proxy, KIND) : [];
  const own = ports.filter(({ snis }) => isLimited || snis.some((sni) => named.has(sni)));
  return [...(isLimited ? [] : [commonChain(context, listener)]), ...ownChains(context, listener, own)];
}

/** Adds the clusters of a port, one for each server name, and their common endpoints. */
export function addIngressPort(
  config: ProxyConfig,
  { index, rules }: Pick<ZoneContext, 'index' | 'rules'>,
  { outbound, snis }: ZonePort,
): void {
  const { zone } = rules.proxy;
  const assignment = zoneResourceName(KIND, outbound.kri);
  addPatched(config, rules, false, (part) => {
    for (const sni of snis) {
      const name = zoneResourceName(KIND, sni);
      part.clusters.set(name, {
        name,
        // The clusters of a port count together, under the name that Kuma gives its cluster.
        altStatName: outbound.kri,
        type: 'EDS',
        edsClusterConfig: { edsConfig: FROM_ADS, serviceName: assignment },
        connectTimeout: '5s',
        circuitBreakers: { thresholds: [{ trackRemaining: true }] },
      });
    }
    const { ready, silent } = ingressServers(index, outbound, zone);
    part.assignments.set(assignment, zoneAssignment(assignment, zone, ready.length > 0 ? ready : silent));
  });
}

/** The server name chooses the cluster. Envoy closes a connection that names none, or one that does not exist. */
function commonChain(context: ZoneContext, listener: ZoneListener): JsonObject {
  const type = 'extensions.filters.network.set_filter_state.v3.Config';
  const chooseCluster = extension('envoy.filters.network.set_filter_state', type, {
    onNewConnection: [
      {
        objectKey: 'envoy.tcp_proxy.cluster',
        formatString: { textFormatSource: { inlineString: zoneResourceName(KIND, '%REQUESTED_SERVER_NAME%') } },
      },
    ],
  });
  const { name } = listener;
  const chain = { snis: [], statPrefix: name, cluster: name, destination: '%REQUESTED_SERVER_NAME%' };
  return {
    filterChainMatch: { transportProtocol: 'tls' },
    filters: [chooseCluster, chainTcpProxy(context, listener, chain)],
  };
}

function ownChains(context: ZoneContext, listener: ZoneListener, ports: readonly ZonePort[]): JsonObject[] {
  const taken = new Set<string>();
  return ports.flatMap(({ outbound: { kri }, snis }) => {
    const serverNames = untaken(snis, taken);
    const [first] = serverNames;
    if (first === undefined) return [];
    const chain = { snis, statPrefix: kri, cluster: zoneResourceName(KIND, first), destination: kri };
    return [
      {
        filterChainMatch: { serverNames, transportProtocol: 'tls' },
        filters: [...networkFilters(listener.rules.confsOf(snis)), chainTcpProxy(context, listener, chain)],
      },
    ];
  });
}

/** Server names that no earlier chain has: Envoy refuses a listener in which two chains have one. */
function untaken(snis: readonly string[], taken: Set<string>): string[] {
  const free = snis.filter((sni) => !taken.has(sni));
  for (const sni of free) taken.add(sni);
  return free;
}
