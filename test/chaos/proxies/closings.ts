// The edits that close connections, with their rows of docs/long-connections.md. All others close none.
import type { EditKind } from './edit-kinds.ts';
import type { Spoken } from './kept-connections.ts';

export type Closing = { readonly spoken: readonly Spoken[]; readonly row: string };

const INBOUND = 'protocol, name, port or address of the inbound';
const TLS = 'MeshTLS, a MeshIdentity that comes or goes, a trust domain that comes or goes';

export const CLOSINGS: Readonly<Partial<Record<EditKind, Closing>>> = {
  'names of inbounds': { spoken: ['tcp', 'stream'], row: INBOUND },
  'the address of a server': { spoken: ['tcp', 'stream'], row: INBOUND },
  'the port of the egress': { spoken: ['tcp', 'stream'], row: 'address or port of an ingress or egress' },
  'the port of the ingress': { spoken: ['tcp', 'stream'], row: 'address or port of an ingress or egress' },
  'the protocol of a service': { spoken: ['tcp', 'stream'], row: 'protocol of a port of the service' },
  'MeshTLS versions': { spoken: ['tcp', 'stream'], row: TLS },
  'MeshTLS mode': { spoken: ['tcp', 'stream'], row: TLS },
  'labels that a log reads': {
    spoken: ['tcp', 'stream'],
    row: 'labels of the Dataplane, where `io.kuma.tags` is in a log or a MeshProxyPatch',
  },
  'MeshTrafficPermission of all': { spoken: ['tcp'], row: 'MeshTrafficPermission' },
  'MeshTrafficPermission rules': { spoken: ['tcp'], row: 'MeshTrafficPermission' },
  'MeshFaultInjection of three faults': { spoken: ['stream'], row: 'MeshFaultInjection, from the third fault on' },
  'MeshTimeout requestHeadersTimeout': { spoken: ['stream'], row: 'MeshTimeout `requestHeadersTimeout`' },
  'MeshAccessLog rules': { spoken: ['stream'], row: 'MeshAccessLog' },
  'MeshTrace of servers': { spoken: ['stream'], row: 'MeshTrace' },
  'MeshAccessLog to': { spoken: ['stream'], row: 'MeshTimeout `requestHeadersTimeout`, MeshAccessLog, MeshTrace' },
  'MeshTrace of the client': { spoken: ['stream'], row: 'MeshTimeout `requestHeadersTimeout`, MeshAccessLog, MeshTrace' },
  'MeshTimeout requestHeadersTimeout to': {
    spoken: ['stream'],
    row: 'MeshTimeout `requestHeadersTimeout`, MeshAccessLog, MeshTrace',
  },
  'MeshTCPRoute of gRPC': {
    spoken: ['stream'],
    row: 'a MeshTCPRoute that makes TCP of an HTTP service, and its end',
  },
  'MeshProxyPatch of filters': { spoken: ['stream'], row: 'MeshProxyPatch of a connection manager or of HTTP filters' },
};
