// Random edits of Dataplanes and of services. Each returns the kept connections that pass where it has edited.
import { SERVERS, type Server } from './edited-mesh.ts';
import type { Kept } from './kept-connections.ts';
import { ofServer, type PolicyAims } from './policy-aims.ts';

const PROTOCOLS = ['http', 'http2', 'grpc'] as const;

export function editsOfDataplanes(aims: PolicyAims) {
  const { edited, below } = aims;
  const onServer = (edit: (server: Server) => Promise<void>) => async (): Promise<readonly Kept[]> => {
    const server = aims.oneOf(SERVERS);
    await edit(server);
    return ofServer(server);
  };
  /** No kept connection passes there. */
  const apart = (edit: () => Promise<void>) => async (): Promise<readonly Kept[]> => {
    await edit();
    return [];
  };
  return {
    'outbounds change places': apart(() => edited.swapOutbounds()),
    'a service and its outbound': async () => {
      await edited.toggleService();
      return SERVERS.flatMap(ofServer);
    },
    'names of inbounds': onServer((server) => edited.renameInbounds(server, below(100))),
    'one more inbound': onServer((server) => edited.toggleInbound(server)),
    'labels of a Dataplane': onServer((server) => edited.label(server, below(100))),
    'the address of a server': onServer((server) => edited.moveServer(server)),
    'the port of an inbound': apart(() => edited.moveInbound(aims.oneOf(SERVERS))),
    'the protocol of an inbound': apart(() => edited.setProtocol(aims.oneOf(SERVERS), aims.oneOf(PROTOCOLS))),
    'the protocol of a service': apart(() => edited.setProtocolOfService(aims.oneOf([...PROTOCOLS, 'tcp']))),
    'the state of an inbound': apart(() => edited.rest(aims.oneOf([null, ...SERVERS]))),
    'servers of a service of both zones': apart(() => edited.toggleSpread(aims.oneOf(SERVERS))),
    'labels of a Dataplane of the other zone': apart(() => edited.west.label(below(100))),
    'the port of the ingress': async () => {
      edited.note('the ingress moves');
      await edited.west.moveIngress();
      return ['tcp@west' as const];
    },
    'the port of the egress': async () => {
      await edited.moveEgress();
      return ['tcp@outside' as const];
    },
  };
}
