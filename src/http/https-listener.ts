// The API over HTTPS: one handler, a second port (rest-api 1). Invariant: it closes with the API, after the requests in flight.
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Clock } from '../base/clock.ts';
import type { TlsMaterial } from '../base/tls-material.ts';
import { refuseClient } from './client-errors.ts';
import { endConnections, MAX_HEADER_BYTES, TIMEOUTS, type Timeouts } from './http-server.ts';

type HttpsOptions = {
  readonly material: TlsMaterial;
  /** Refuses callers without a certificate that `material.ca` signed. */
  readonly requireClientCert: boolean;
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3';
  readonly clock: Clock;
  readonly timeouts?: Timeouts | undefined;
};

export class HttpsListener {
  readonly #server: Server;
  readonly #minVersion: HttpsOptions['minVersion'];

  constructor(app: FastifyInstance, { material, requireClientCert, minVersion, clock, timeouts = TIMEOUTS }: HttpsOptions) {
    this.#minVersion = minVersion;
    const options = {
      ...contextOf(material, minVersion),
      requestCert: requireClientCert || material.ca !== null,
      rejectUnauthorized: requireClientCert,
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: timeouts.headers,
      requestTimeout: timeouts.request,
      keepAliveTimeout: timeouts.idle,
      connectionsCheckingInterval: Math.min(2_000, timeouts.headers),
    };
    this.#server = createServer(options, (request, response) => app.routing(request, response));
    this.#server.setTimeout(timeouts.idle);
    this.#server.on('clientError', refuseClient);
    // A failed handshake concerns only the caller.
    this.#server.on('tlsClientError', () => undefined);
    endConnections(app, this.#server, clock);
    app.addHook('preClose', async () => this.#close());
  }

  /** @returns the port. Rejects when the address cannot be bound */
  async listen(host: string, port: number): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, host, resolve);
    });
    return (this.#server.address() as AddressInfo).port;
  }

  /** Replaces the certificate for new connections. */
  replace(material: TlsMaterial): void {
    this.#server.setSecureContext(contextOf(material, this.#minVersion));
  }

  async #close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeIdleConnections();
    await closed;
  }
}

function contextOf({ cert, key, ca }: TlsMaterial, minVersion: HttpsOptions['minVersion']): object {
  return { cert, key, minVersion, ...(ca !== null && { ca }) };
}
