// The HTTP servers of a proxy on the loopback address: `/ready`, and the pages of Envoy's admin interface. Invariants: requests cannot
// change the Envoy. A web page that resolves its own host name to this machine gets no answer.
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { MeridianError, messageOf } from '../base/errors.ts';
import type { EnvoyAdmin } from './envoy-admin.ts';

const HOST = '127.0.0.1';
const MAX_CONNECTIONS = 64;

type LocalServer = { readonly port: number; readonly close: () => Promise<void> };

/**
 * Listens on the loopback address.
 * @param option the option that named the port, for the error; port 0 is any free one
 * @throws MeridianError `config` for a port that is taken
 */
export async function listenLocally(option: string, port: number, listener: RequestListener): Promise<LocalServer> {
  const server = createServer({ requestTimeout: 10_000, headersTimeout: 5_000 }, listener);
  server.maxConnections = MAX_CONNECTIONS;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, HOST, resolve);
  }).catch((cause: unknown) => {
    throw new MeridianError('config', `${option}: ${whyNoPort(port, cause)}`, { cause });
  });
  const address = server.address();
  return {
    port: address !== null && typeof address === 'object' ? address.port : port,
    close: async () => await closed(server),
  };
}

/** Why a port cannot be had, for the error. */
export function whyNoPort(port: number, cause: unknown): string {
  const { code } = cause as { code?: unknown };
  const why = code === 'EADDRINUSE' ? 'is in use; each proxy of a machine needs one of its own' : messageOf(cause);
  return `port ${String(port)} ${why}`;
}

/** Answers `GET /ready` with 200 `LIVE`, or 503 and the reason. */
export function readyListener(whyNotReady: () => Promise<string | null>): RequestListener {
  return (request, response) => {
    if (pathOf(request) !== '/ready') return answer(response, 404, 'only /ready is here');
    if (!isRead(request)) return answer(response, 405, 'GET only');
    void whyNotReady().then((reason) => answer(response, reason === null ? 200 : 503, reason ?? 'LIVE'));
  };
}

/**
 * Passes GET on to the admin interface of the Envoy that runs now.
 * @param pages of the launcher itself, as JSON by path
 */
export function adminListener(
  current: () => EnvoyAdmin | null,
  pages: Readonly<Record<string, () => object>> = {},
): RequestListener {
  return (request, response) => {
    if (!isRead(request)) return answer(response, 405, 'this port is for reading; use the socket in the work folder');
    if (!isLocalName(request.headers.host)) return answer(response, 403, 'this port is for local names only');
    const own = pages[pathOf(request)];
    if (own !== undefined) return answer(response, 200, JSON.stringify(own(), null, 2), 'application/json');
    const admin = current();
    if (admin === null) return answer(response, 503, 'no Envoy runs');
    const calling = admin.open(request.method ?? 'GET', request.url ?? '/');
    response.once('close', () => calling.destroy());
    calling.once('error', () => (response.headersSent ? response.destroy() : answer(response, 503, 'Envoy does not answer')));
    calling.once('response', (page) => {
      response.writeHead(page.statusCode ?? 502, { 'content-type': page.headers['content-type'] ?? 'text/plain' });
      pipeline(page, response).catch(() => response.destroy());
    });
    calling.end();
  };
}

function answer(response: ServerResponse, status: number, text: string, type = 'text/plain; charset=utf-8'): void {
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' });
  response.end(`${text}\n`);
}

function isRead({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD';
}

function pathOf({ url = '/' }: IncomingMessage): string {
  return url.split('?')[0] ?? '/';
}

/** An IP address or `localhost`. A web site can have any other name resolve to this machine. */
function isLocalName(host = ''): boolean {
  const name = host.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
  return name === 'localhost' || isIP(name) !== 0;
}

async function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}
