// The applications of the shop, as small as they can be: a cart that says its version, and a catalog that asks a cart, or says who asks.
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A cart answers a request of this path after a while. */
export const SLOW_PATH = '/slow';
const SLOW_MS = 60;

/** The catalog answers a request of this path with its zone and the identity of the caller, and asks no cart. */
export const WHO_PATH = '/who';

/** `caller`: the SPIFFE ID of the certificate of the proxy that called; null without one. */
export type WhoAnswer = { readonly zone: string; readonly caller: string | null };

export type Application = { readonly port: number; readonly close: () => Promise<void> };

/** Answers with its version. */
export async function startCart(version: string): Promise<Application> {
  return await listen((request, response) => {
    request.resume();
    setTimeout(() => response.end(version), request.url === SLOW_PATH ? SLOW_MS : 0);
  });
}

/** Answers with what a cart says. @param cart port of the outbound to the carts */
export async function startCatalog(zone: string, cart: number): Promise<Application> {
  return await listen((request, response) => {
    request.resume();
    if (request.url === WHO_PATH) {
      // The proxy of the catalog sets it, and replaces what a client sent.
      const { 'x-forwarded-client-cert': given = '' } = request.headers;
      const [, caller = null] = /URI=([^;,]*)/.exec(String(given)) ?? [];
      const answer: WhoAnswer = { zone, caller };
      response.end(JSON.stringify(answer));
      return;
    }
    void fetch(`http://127.0.0.1:${String(cart)}/`)
      .then(async (answer) => {
        response.statusCode = answer.status;
        response.end(`catalog, with cart ${await answer.text()}`);
      })
      .catch(() => response.writeHead(502).end());
  });
}

async function listen(take: RequestListener): Promise<Application> {
  const server = createServer(take);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, close: () => close(server) };
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}
