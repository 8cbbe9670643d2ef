// The meaning of each field of the protobuf messages that users write, for `meridian explain` and OpenAPI. Data: descriptors have
// no comments.

type Texts = Readonly<Record<string, Readonly<Record<string, string>>>>;

const NETWORKING = 'kuma.mesh.v1alpha1.Dataplane.Networking';

const TEXTS: Texts = {
  'kuma.mesh.v1alpha1.Mesh': {
    skipCreatingInitialPolicies: 'Types of the default policies that a new mesh does not get; "*" for all of them.',
  },
  'kuma.system.v1alpha1.Zone': {
    enabled: 'False: global has no connection with the zone, and no zone uses its ingresses. True if not set.',
    meshes: 'The meshes that the zone belongs to; all if empty. A zone without a mesh gets nothing of it.',
  },
  'kuma.system.v1alpha1.Secret': { data: 'The value, in base64.' },
  'kuma.mesh.v1alpha1.Dataplane': { networking: 'Where the proxy and its application listen, and what the application calls.' },
  [NETWORKING]: {
    address: 'IP address of the proxy, which others connect to. Inbounds and zone proxies without an address have it.',
    inbound: 'Ports of the application that the proxy opens to others.',
    outbound: 'Services that the application calls, each at a local address and port.',
    gateway: 'Makes the proxy that of a delegated gateway: it has outbounds, and no inbounds.',
    transparentProxying: 'For a proxy to which a firewall redirects the connections of its application.',
    admin: 'The admin interface of Envoy, which listens on 127.0.0.1.',
    listeners: 'Ports of a zone ingress or egress, in the form of Kuma.',
    zoneIngress: 'Makes the proxy an ingress: other zones reach the services of this zone through it.',
    zoneEgress: 'Makes the proxy an egress: the zone reaches external services through it.',
  },
  [`${NETWORKING}.Inbound`]: {
    tags: 'Read by zones of Kuma 2.x. Services select Dataplanes by labels.',
    port: 'The port on which the proxy listens.',
    servicePort: 'The port of the application. That of the inbound if not set.',
    address: 'IP address on which the proxy listens. networking.address if not set.',
    serviceAddress: 'IP address on which the application listens, such as 127.0.0.1. The address of the inbound if not set.',
    health: 'Whether the application was ready at the last probe. The zone writes it.',
    serviceProbe: 'How Envoy asks the application whether it is ready. Without it an inbound of HTTP is asked by TCP.',
    state: 'Ready: clients call it. NotReady: no client calls it. Ignored: it belongs to no service. Ready if not set.',
    name: 'The name that services and policies know it by: targetPort, sectionName. The port as text if not set.',
    protocol: 'What the application speaks: http, http2, grpc or tcp. tcp if not set.',
  },
  [`${NETWORKING}.Inbound.Health`]: { ready: 'False: the application does not answer, and no client calls it.' },
  [`${NETWORKING}.Inbound.ServiceProbe`]: {
    interval: 'Between two probes.',
    timeout: 'How long a probe waits for an answer.',
    unhealthyThreshold: 'Failures in a row after which the application is not ready.',
    healthyThreshold: 'Successes in a row after which it is ready.',
    tcp: 'The probe connects by TCP. Empty.',
  },
  [`${NETWORKING}.Outbound`]: {
    address: 'The local IP address that the application calls. 127.0.0.1 if not set.',
    port: 'The local port that the application calls.',
    backendRef: 'The service that it leads to.',
  },
  [`${NETWORKING}.Outbound.BackendRef`]: {
    kind: 'MeshService, MeshExternalService or MeshMultiZoneService.',
    name: 'The name of the service. Not beside labels.',
    port: 'The port of the service. Not needed where it has one.',
    labels: 'Labels of the service. Of several that match the oldest counts. Not beside name.',
  },
  [`${NETWORKING}.Gateway`]: {
    tags: 'Read by zones of Kuma 2.x.',
    type: 'DELEGATED: another program is the gateway, and calls through this proxy.',
  },
  [`${NETWORKING}.TransparentProxying`]: {
    redirectPortInbound: 'The port to which connections to the application are redirected.',
    redirectPortOutbound: 'The port to which connections of the application are redirected.',
    directAccessServices: 'Has no effect: name the addresses in a MeshPassthrough.',
    ipFamilyMode: 'The versions of IP that are redirected. Those of the machine if not set.',
    reachableBackends: 'The services that the application calls. All of the mesh if not set, none if refs is empty.',
  },
  [`${NETWORKING}.TransparentProxying.ReachableBackends`]: { refs: 'Each names one service, or several by labels.' },
  [`${NETWORKING}.TransparentProxying.ReachableBackendRef`]: {
    kind: 'MeshService, MeshExternalService or MeshMultiZoneService.',
    name: 'The name of the service. Not beside labels.',
    namespace: 'The namespace of the service.',
    port: 'A port of the service. All of them if not set.',
    labels: 'Labels of the services. Not beside name.',
  },
  [`${NETWORKING}.Listener`]: {
    type: 'ZoneIngress or ZoneEgress.',
    address: 'IP address on which the proxy listens.',
    port: 'The port on which the proxy listens.',
    name: 'The name that policies know it by: sectionName.',
    state: 'NotReady: it is not used. Ready if not set.',
  },
  [`${NETWORKING}.ZoneIngress`]: {
    address: 'IP address on which the proxy listens. networking.address if not set.',
    port: 'The port on which the proxy listens.',
    advertisedAddress: 'IP address at which other zones reach it. They do not use an ingress without one.',
    advertisedPort: 'The port at which other zones reach it.',
    name: 'The name that policies know it by: sectionName. The port as text if not set.',
  },
  [`${NETWORKING}.ZoneEgress`]: {
    address: 'IP address on which the proxy listens. networking.address if not set.',
    port: 'The port on which the proxy listens.',
    name: 'The name that policies know it by: sectionName. The port as text if not set.',
  },
  'kuma.mesh.v1alpha1.EnvoyAdmin': { port: 'The port on which it listens. The launcher chooses one if not set.' },
};

/** The text of a field, or `''`. @param message the full name of the message */
export function textOfField(message: string, jsonName: string): string {
  return TEXTS[message]?.[jsonName] ?? '';
}

/** Each field that has a text, as `MESSAGE FIELD`. */
export function fieldsWithText(): string[] {
  return Object.entries(TEXTS).flatMap(([message, fields]) => Object.keys(fields).map((field) => `${message} ${field}`));
}
