// Types of Kuma 2.x that neither Kuma 3 nor Meridian has, with what does their work now. Pure.

const SUCCESSORS: Readonly<Record<string, string>> = {
  TrafficPermission: 'write a MeshTrafficPermission',
  TrafficRoute: 'write a MeshHTTPRoute or MeshTCPRoute',
  TrafficLog: 'write a MeshAccessLog',
  TrafficTrace: 'write a MeshTrace',
  HealthCheck: 'write a MeshHealthCheck',
  CircuitBreaker: 'write a MeshCircuitBreaker',
  FaultInjection: 'write a MeshFaultInjection',
  RateLimit: 'write a MeshRateLimit',
  Retry: 'write a MeshRetry',
  Timeout: 'write a MeshTimeout',
  ProxyTemplate: 'write a MeshProxyPatch',
  ExternalService: 'write a MeshExternalService',
  VirtualOutbound: 'write a HostnameGenerator, and labels on the services',
  MeshGateway: 'run a delegated gateway as a Dataplane with networking.gateway',
  MeshGatewayRoute: 'write the routes in the delegated gateway',
  MeshGatewayInstance: 'run a delegated gateway as a Dataplane with networking.gateway',
  ZoneIngress: 'let the zone be of Kuma 3 before the takeover: its ingress is a Dataplane with listeners',
  ZoneEgress: 'let the zone be of Kuma 3 before the takeover: its egress is a Dataplane with listeners',
};

/** The types to write in place of a resource of this type; undefined for a type that is none of 2.x. */
export function successorOf(type: string): string | undefined {
  return SUCCESSORS[type];
}

/** Whether a control plane computes the rows of this type, or keeps them for its own cluster: no zone loses them. */
export function isComputed(type: string): boolean {
  return type.endsWith('Insight') || type === 'ContainerPatch' || type === 'MeshGatewayConfig';
}
