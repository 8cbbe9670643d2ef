// TLS of the gRPC server. Its certificate can be replaced while it runs. Open connections keep theirs.
import type { SecureContextOptions } from 'node:tls';
import { ServerCredentials } from '@grpc/grpc-js';

export type KdsServerTls = {
  /** Certificate and key are PEM. With `ca`, the server requests a client certificate that it signed. */
  readonly material: { readonly cert: Buffer; readonly key: Buffer; readonly ca: Buffer | null };
  /** Refuses clients without a valid certificate. */
  readonly requireClientCert: boolean;
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3';
};

/** A client that takes longer for its TLS handshake is refused. */
const HANDSHAKE_MS = 10_000;

export class ReplaceableCredentials extends ServerCredentials {
  readonly #minVersion: KdsServerTls['minVersion'];

  constructor({ material, requireClientCert, minVersion }: KdsServerTls) {
    super(
      {
        requestCert: requireClientCert || material.ca !== null,
        rejectUnauthorized: requireClientCert,
        handshakeTimeout: HANDSHAKE_MS,
      },
      contextOf(material, minVersion),
    );
    this.#minVersion = minVersion;
  }

  replace(material: KdsServerTls['material']): void {
    this.updateSecureContextOptions(contextOf(material, this.#minVersion));
  }

  override _equals(other: ServerCredentials): boolean {
    return this === other;
  }
}

function contextOf({ cert, key, ca }: KdsServerTls['material'], minVersion: KdsServerTls['minVersion']): SecureContextOptions {
  return { cert, key, minVersion, ...(ca !== null && { ca }) };
}
