// A control plane of a test: POST /bootstrap and /leave, and a delta ADS stream with a fixed configuration, on one TLS port.
import { once } from 'node:events';
import {
  createSecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { createSelfSigned } from '../../src/base/self-signed.ts';
import { objectOf, textOf } from '../../src/resource/read-json.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { TYPE_URL_PREFIX } from '../../src/wire/any.ts';
import { envoyJsonToBinary } from '../../src/wire/json-to-binary.ts';
import { decodeDeltaRequest, encodeDeltaResponse, encodeResourceEntry } from '../../src/wire/kds-messages.ts';
import { NAMES_METHOD } from '../../src/wire/name-messages.ts';
import { bootstrapConfig, nodeMetadata, RUN } from '../../src/xds/bootstrap.ts';

const ADS = '/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources';
const GRPC = { ':status': 200, 'content-type': 'application/grpc' };
const LISTENER = 'envoy.config.listener.v3.Listener';

export type Answer = { readonly status: number; readonly body: string };

export class FakeControlPlane {
  /** `https://127.0.0.1:PORT` */
  readonly url: string;
  /** PEM of its certificate. */
  readonly ca: string;
  /** Bodies of POST /bootstrap, in order. */
  readonly asked: JsonObject[] = [];
  /** Bodies of POST /leave, in order. */
  readonly left: JsonObject[] = [];
  /** Texts with which an Envoy refused what it was sent. */
  readonly refusals: string[] = [];
  /** Streams that were opened, by the token that they showed. */
  readonly streams: string[] = [];
  /** What each Envoy is sent. */
  listeners: readonly JsonObject[] = [];
  /** In place of the bootstrap, if it is set and gives an answer. The run of a bootstrap is `run-N`, of the Nth body. */
  answer: ((request: JsonObject) => Answer | null | Promise<Answer>) | null = null;
  readonly #open = new Set<ServerHttp2Stream>();
  readonly #port: number;
  #stop: () => void = () => undefined;

  private constructor(port: number, ca: string) {
    this.#port = port;
    this.url = `https://127.0.0.1:${String(port)}`;
    this.ca = ca;
  }

  /** @param port 0 is any free one. It stops with the test. */
  static async start({ hosts = ['127.0.0.1', 'localhost'], port = 0 } = {}): Promise<FakeControlPlane> {
    const { certPem, keyPem } = await createSelfSigned('server', hosts, new Date());
    const server = createSecureServer({ cert: certPem, key: keyPem, allowHTTP1: true });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    const plane = new FakeControlPlane((server.address() as AddressInfo).port, certPem);
    server.on('request', (request, response) => {
      if (request.url === '/leave') void plane.#leave(request, response);
      else if (request.url !== ADS && request.url !== NAMES_METHOD) void plane.#bootstrap(request, response);
    });
    server.on('stream', (stream, headers) => {
      if (headers[':path'] === ADS) plane.#serve(stream, textOf(headers['authorization']));
      // It sends no names, as an earlier version of a zone.
      if (headers[':path'] === NAMES_METHOD) stream.respond({ ...GRPC, 'grpc-status': '12' }, { endStream: true });
    });
    const sessions = new Set<ServerHttp2Session>();
    server.on('session', (session) => sessions.add(session.once('close', () => sessions.delete(session))));
    plane.#stop = () => {
      server.close();
      for (const session of sessions) session.destroy();
    };
    onTestFinished(() => plane.stop());
    return plane;
  }

  /** Ends its connections, and answers no request after that. */
  stop(): void {
    this.#stop();
  }

  /** Ends the streams that are open. */
  endStreams(): void {
    for (const stream of this.#open) stream.close();
  }

  /** The streams that are open now. */
  get open(): number {
    return this.#open.size;
  }

  async #bootstrap(request: Http2ServerRequest, response: Http2ServerResponse): Promise<void> {
    const body = objectOf(JSON.parse(await text(request)));
    this.asked.push(body);
    const own = (await this.answer?.(body)) ?? null;
    const { status, body: answer } = own ?? { status: 200, body: this.#bootstrapFor(body) };
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(answer);
  }

  async #leave(request: Http2ServerRequest, response: Http2ServerResponse): Promise<void> {
    this.left.push(objectOf(JSON.parse(await text(request))));
    response.writeHead(204).end();
  }

  #bootstrapFor(request: JsonObject): string {
    const bootstrap = bootstrapConfig({
      mesh: textOf(request['mesh']),
      name: textOf(request['name']),
      controlPlane: { host: '127.0.0.1', port: this.#port },
      caCert: textOf(request['caCert']) || this.ca,
      token: textOf(request['dataplaneToken']),
      workdir: textOf(request['workdir']),
      metadata: { ...nodeMetadata(request), [RUN]: `run-${String(this.asked.length)}` },
      reportsHealth: false,
    });
    return JSON.stringify({ bootstrap: Buffer.from(JSON.stringify(bootstrap)).toString('base64') });
  }

  #serve(stream: ServerHttp2Stream, token: string): void {
    this.streams.push(token);
    this.#open.add(stream);
    stream.once('close', () => this.#open.delete(stream));
    stream.on('error', () => undefined);
    stream.respond(GRPC);
    const answered = new Set<string>();
    let rest = Buffer.alloc(0);
    stream.on('data', (part: Buffer) => {
      rest = Buffer.concat([rest, part]);
      // A byte for compression, four for the length, the message.
      while (rest.length >= 5 && rest.length >= 5 + rest.readUInt32BE(1)) {
        const end = 5 + rest.readUInt32BE(1);
        const { typeUrl, errorDetail } = decodeDeltaRequest(rest.subarray(5, end));
        if (errorDetail !== null) this.refusals.push(errorDetail.message);
        rest = rest.subarray(end);
        if (answered.has(typeUrl)) continue;
        answered.add(typeUrl);
        const message = encodeDeltaResponse({
          typeUrl,
          nonce: String(answered.size),
          controlPlane: 'fake',
          entries: typeUrl === TYPE_URL_PREFIX + LISTENER ? this.listeners.map(listenerEntry) : [],
          removed: [],
        });
        const frame = Buffer.alloc(5);
        frame.writeUInt32BE(message.length, 1);
        stream.write(Buffer.concat([frame, message]));
      }
    });
  }
}

function listenerEntry(listener: JsonObject): Uint8Array {
  const kumaResource = envoyJsonToBinary(LISTENER, listener);
  return encodeResourceEntry({ name: textOf(listener['name']), version: '1', typeUrl: TYPE_URL_PREFIX + LISTENER, kumaResource });
}

/** A listener that answers each request with 200. @param logs paths of access logs */
export function answering(port: number, logs: readonly string[] = []): JsonObject {
  const type = (name: string): string => `type.googleapis.com/envoy.extensions.filters.${name}`;
  const router = { name: 'envoy.filters.http.router', typedConfig: { '@type': type('http.router.v3.Router') } };
  const route = { match: { prefix: '/' }, directResponse: { status: 200, body: { inlineString: 'hello' } } };
  return {
    name: `test-${String(port)}`,
    address: { socketAddress: { address: '127.0.0.1', portValue: port } },
    filterChains: [
      {
        filters: [
          {
            name: 'envoy.filters.network.http_connection_manager',
            typedConfig: {
              '@type': type('network.http_connection_manager.v3.HttpConnectionManager'),
              statPrefix: 'test',
              accessLog: logs.map((path) => ({
                name: 'envoy.access_loggers.file',
                typedConfig: {
                  '@type': 'type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog',
                  path,
                  logFormat: { textFormatSource: { inlineString: `to ${path}: %RESPONSE_CODE%\n` } },
                },
              })),
              httpFilters: [router],
              routeConfig: { name: 'test', virtualHosts: [{ name: 'all', domains: ['*'], routes: [route] }] },
            },
          },
        ],
      },
    ],
  };
}
