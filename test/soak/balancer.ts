// A TCP load balancer before the replicas, for zones with one address of global.
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export type Balancer = { readonly address: string; readonly close: () => Promise<void> };

/** @param ports of the living replicas on 127.0.0.1, asked for at each connection */
export async function startBalancer(ports: () => readonly number[]): Promise<Balancer> {
  const open = new Set<Socket>();
  const keep = (socket: Socket, other: Socket): void => {
    open.add(socket);
    socket.on('error', () => other.destroy());
    socket.once('close', () => {
      open.delete(socket);
      other.destroy();
    });
  };
  const server = createServer({ noDelay: true }, (near) => {
    const known = ports();
    const port = known[Math.floor(Math.random() * known.length)];
    if (port === undefined) {
      near.destroy();
      return;
    }
    const far = connect({ host: '127.0.0.1', port, noDelay: true });
    keep(near, far);
    keep(far, near);
    near.pipe(far);
    far.pipe(near);
  });
  // A run that fails at its start ends all the same.
  server.listen(0, '127.0.0.1').unref();
  await once(server, 'listening');
  return {
    address: `127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}
