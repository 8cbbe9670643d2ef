// What every floor has: a gRPC server, and a request over HTTP that makes it do something.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Server, ServerCredentials } from '@grpc/grpc-js';

/** @returns its port on 127.0.0.1 */
export async function listenGrpc(server: Server, credentials: ServerCredentials): Promise<number> {
  return await new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', credentials, (error, port) => (error === null ? resolve(port) : reject(error)));
  });
}

/** A floor that writes a prepared change to every stream when it is asked over HTTP. @returns the port of that on 127.0.0.1 */
export async function listenForChange(
  streams: ReadonlySet<{ write: (bytes: Buffer) => unknown }>,
  change: Buffer,
): Promise<number> {
  const http = createServer((request, response) => {
    request.resume().once('end', () => {
      for (const stream of streams) stream.write(change);
      response.end('{}');
    });
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  return (http.address() as AddressInfo).port;
}
