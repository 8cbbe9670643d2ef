// A port for proxies with tokens and one Dataplane, and the clients of proxies. Its handler takes a first message as the JSON of a
// Dataplane, lets the stream in, and sends every message back.
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import type { Duplex } from 'node:stream';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { Client, credentials, Metadata, type ClientDuplexStream, type StatusObject } from '@grpc/grpc-js';
import { pino } from 'pino';
import { systemClock, type Clock } from '../../src/base/clock.ts';
import { createSelfSigned } from '../../src/base/self-signed.ts';
import { DEFAULT_CONNECTION_LIMITS, type ConnectionLimits } from '../../src/grpc/connections.ts';
import { messagesOf } from '../../src/grpc/messages-of.ts';
import { adsService } from '../../src/proxy-port/grpc-services.ts';
import { ProxyPort } from '../../src/proxy-port/proxy-port.ts';
import type { LeavingProxy } from '../../src/proxy-port/leave-answer.ts';
import type { ServeProxy } from '../../src/proxy-port/proxy-stream.ts';
import { RefusedProxies } from '../../src/token/refused-proxies.ts';
import { ProxyAuthenticator, watchProxyTokens } from '../../src/token/proxy-authenticator.ts';
import type { ProxyDataplane } from '../../src/resource/proxy-permit.ts';
import type { DataplaneClaims } from '../../src/token/token-claims.ts';
import { TokenIssuer } from '../../src/token/token-issuer.ts';
import { dataplaneRealm } from '../../src/token/token-realm.ts';
import { TokenVerifier } from '../../src/token/token-verifier.ts';
import { followedSecrets, partOf, putKey, revoke } from '../token/signing-secrets.ts';
import { TinyStore } from '../support/tiny-store.ts';

export type Stream = ClientDuplexStream<Buffer, Buffer>;

/** The Dataplane in the store. */
export const CART = { mesh: 'shop', name: 'cart-1', labels: {}, spec: { networking: { address: '127.1.0.7' } } };

const echo: ServeProxy = async ({ call, admit }) => {
  let isFirst = true;
  for await (const message of messagesOf(call as unknown as Duplex)) {
    if (isFirst) await admit(JSON.parse(message.toString()) as ProxyDataplane);
    isFirst = false;
    call.write(message);
  }
};

export type PortOptions = {
  readonly host?: string;
  readonly limits?: Partial<ConnectionLimits>;
  readonly type?: 'dpToken' | 'none';
  readonly serve?: ServeProxy;
  /** Null: the port takes no health. */
  readonly serveHealth?: ServeProxy | null;
  readonly serveNames?: ServeProxy;
  readonly readHeaderTimeout?: number;
  /** Of the port: its limits and waits. Tokens and certificates have the time of the machine. */
  readonly clock?: Clock;
};

export class OpenPort {
  readonly store = new TinyStore();
  /** Lines of its log. */
  readonly logged: string[] = [];
  /** What launchers said. */
  readonly left: LeavingProxy[] = [];
  port = 0;
  certPem = '';
  readonly refused = new RefusedProxies(systemClock);
  readonly #stop = new AbortController();
  readonly #clients: Client[] = [];
  #issuer: TokenIssuer | undefined;
  #server: ProxyPort | undefined;

  async start(options: PortOptions = {}): Promise<this> {
    const { host = '127.0.0.1', limits = {}, type = 'dpToken', serve = echo, clock = systemClock, ...rest } = options;
    const { serveHealth = null, serveNames = echo, ...times } = rest;
    const log = pino({ level: 'info' }, { write: (line: string) => void this.logged.push(line) });
    const { mesh, name, ...row } = CART;
    await this.store.write({ op: 'put', key: { type: 'Dataplane', mesh, name }, ...row });
    await putKey(this.store, dataplaneRealm('shop'), '1');
    const secrets = await followedSecrets(this.store, this.#stop.signal);
    const verifier = new TokenVerifier(secrets, () => systemClock.now());
    this.#issuer = new TokenIssuer(secrets, () => systemClock.now());
    const watch = watchProxyTokens({ secrets, verifier, clock: systemClock });
    void watch.run(this.#stop.signal);
    const { certPem, keyPem } = await createSelfSigned('server', ['localhost', '127.0.0.1', '::1'], systemClock.now());
    this.certPem = certPem;
    this.#server = new ProxyPort({
      host,
      port: 0,
      tls: { material: { cert: Buffer.from(certPem), key: Buffer.from(keyPem), ca: null }, minVersion: 'TLSv1.2' },
      limits: { ...DEFAULT_CONNECTION_LIMITS, ...limits },
      readHeaderTimeout: 5_000,
      ...times,
      authenticator: new ProxyAuthenticator(verifier, type),
      refused: this.refused,
      watch,
      serve,
      serveHealth,
      serveNames,
      launcher: {
        needsToken: type !== 'none',
        dataplane: async (ofMesh, ofName) => (await this.store.get({ type: 'Dataplane', mesh: ofMesh, name: ofName })) ?? null,
        writer: { mode: 'zone', zone: 'east', federated: false },
        leave: async (proxy) => void this.left.push(proxy),
      },
      clock,
      log,
    });
    this.port = await this.#server.listen();
    return this;
  }

  async close(): Promise<void> {
    for (const client of this.#clients.splice(0)) client.close();
    await this.#server?.close();
    this.#stop.abort();
  }

  /** Another certificate of the same names, for connections from now on. */
  async renew(): Promise<string> {
    const { certPem, keyPem } = await createSelfSigned('server', ['localhost', '127.0.0.1', '::1'], systemClock.now());
    this.#server?.replaceTls({ cert: Buffer.from(certPem), key: Buffer.from(keyPem), ca: null });
    return certPem;
  }

  async token(claims: Partial<DataplaneClaims> = {}): Promise<string> {
    const all = { name: '', mesh: 'shop', tags: {}, type: '', workload: '', ...claims };
    return (await this.#issuer?.dataplane(all, 3_600_000)) ?? '';
  }

  async revoke(token: string): Promise<void> {
    await revoke(this.store, dataplaneRealm('shop'), String(partOf(token, 1)['jti']));
  }

  /** A stream of Envoy. @param token `''` for none */
  stream(token: string, { path }: { path: string } = adsService.deltaAggregatedResources, client = this.dial()): Stream {
    const metadata = new Metadata();
    if (token !== '') metadata.set('authorization', token);
    const same = (bytes: Buffer): Buffer => bytes;
    const call = client.makeBidiStreamRequest(path, same, same, metadata);
    call.on('error', () => undefined);
    return call;
  }

  /** A connection of its own, closed with the port. */
  dial(host = '127.0.0.1', port = this.port): Client {
    const authority = host.includes(':') ? `[${host}]` : host;
    const client = new Client(`${authority}:${String(port)}`, credentials.createSsl(Buffer.from(this.certPem)), {
      'grpc.use_local_subchannel_pool': 1,
      'grpc.ssl_target_name_override': 'localhost',
    });
    this.#clients.push(client);
    return client;
  }

  /** A TLS connection that is up. */
  async connect(options: ConnectionOptions = {}): Promise<TLSSocket> {
    const socket = connect({ host: '127.0.0.1', port: this.port, ca: this.certPem, servername: 'localhost', ...options });
    await once(socket, 'secureConnect');
    socket.on('error', () => undefined);
    return socket;
  }

  /** `POST /bootstrap` over HTTP/1.1. */
  async bootstrap(body: string | object, headers: Record<string, string> = {}): Promise<HttpAnswer> {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return await this.send('POST', '/bootstrap', text, { 'content-type': 'application/json', ...headers });
  }

  async send(method: string, path: string, body: string, headers: Record<string, string> = {}): Promise<HttpAnswer> {
    const { certPem: ca, port } = this;
    const to = { host: '127.0.0.1', port, path, method, ca, servername: 'localhost', agent: false } as const;
    const sent = request({ ...to, headers: { host: `localhost:${String(port)}`, ...headers } });
    sent.end(body);
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    let text = '';
    for await (const part of response.setEncoding('utf8')) text += String(part);
    return { status: response.statusCode ?? 0, type: response.headers['content-type'] ?? '', body: text };
  }
}

export type HttpAnswer = { readonly status: number; readonly type: string; readonly body: string };

/** How a stream ends; what comes before is read and dropped. */
export async function ending(call: Stream): Promise<StatusObject> {
  call.resume();
  return await new Promise((resolve) => call.once('status', resolve));
}

/** Sends who it is; resolves when the port has taken it, rejects with the status with which it is refused. */
export async function join(call: Stream, dataplane: object = CART): Promise<void> {
  const answer = new Promise<void>((resolve, reject) => {
    call.once('data', () => resolve());
    call.once('status', ({ code, details }) => reject(new Error(`${String(code)} ${details}`)));
  });
  call.write(Buffer.from(JSON.stringify(dataplane)));
  await answer;
}
