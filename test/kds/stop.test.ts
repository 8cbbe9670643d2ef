// The server stops even if gRPC reports open sessions. A control plane that does not stop keeps its lock and its database.
import { connectivityState, Server } from '@grpc/grpc-js';
import { expect, it, vi } from 'vitest';
import { syncService } from '../../src/kds/protocol/services.ts';
import { open, ServerUnderAttack } from './server-under-attack.ts';

it('the server stops although gRPC never reports the end of its sessions', async () => {
  const server = new ServerUnderAttack();
  await server.start();
  const call = open(server.dial(), syncService.globalToZoneSync, 'east');
  const status = new Promise((resolve) => call.once('status', resolve));
  await new Promise((resolve) => call.once('metadata', resolve));
  const tryShutdown = vi.spyOn(Server.prototype, 'tryShutdown').mockImplementation(() => undefined);
  try {
    await expect(server.close()).resolves.toBeUndefined();
    await expect(status).resolves.toMatchObject({ details: expect.stringContaining('this control plane stops') as string });
  } finally {
    tryShutdown.mockRestore();
  }
});

it('the server ends connections that gRPC counts as closed while they are open', async () => {
  const server = new ServerUnderAttack();
  await server.start();
  const client = server.dial();
  const call = open(client, syncService.globalToZoneSync, 'east');
  await new Promise((resolve) => call.once('metadata', resolve));
  const tryShutdown = vi.spyOn(Server.prototype, 'tryShutdown').mockImplementation((closed) => closed());
  try {
    await server.close();
    const { READY } = connectivityState;
    await vi.waitFor(() => expect(client.getChannel().getConnectivityState(false)).not.toBe(READY));
  } finally {
    tryShutdown.mockRestore();
  }
});
