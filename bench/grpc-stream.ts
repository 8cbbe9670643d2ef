// One gRPC stream on a TLS connection of its own.
import { connect, createSecureContext } from 'node:tls';
import { GrpcConnection, type GrpcCall, type GrpcCallOptions } from './grpc-connection.ts';

export type GrpcStreamOptions = GrpcCallOptions & {
  /** On 127.0.0.1, with any certificate of `localhost`. */
  readonly port: number;
};

/** As Envoy 1.40 connects by default. Shared: the roots of a context are read when it is made. */
const secureContext = createSecureContext({ maxVersion: 'TLSv1.2', ecdhCurve: 'X25519:P-256' });

export class GrpcStream {
  readonly #connection: GrpcConnection;
  readonly #call: GrpcCall;

  constructor({ port, onEnd, ...options }: GrpcStreamOptions) {
    const socket = connect({
      ...{ host: '127.0.0.1', port, servername: 'localhost' },
      ...{ secureContext, ALPNProtocols: ['h2'], rejectUnauthorized: false },
    });
    this.#connection = new GrpcConnection(socket, 'https');
    const end = (): void => {
      this.destroy();
      onEnd();
    };
    this.#call = this.#connection.open({ ...options, onEnd: end });
  }

  write(message: Buffer): void {
    this.#call.write(message);
  }

  /** Ends the connection; `onEnd` is not called. */
  destroy(): void {
    this.#connection.destroy();
  }
}
