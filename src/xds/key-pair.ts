// A certificate with its private key, as a proxy shows it. Invariant: the key leaves as an SDS secret alone; JSON and inspection show none.
import { certificatesOf, privateKeyOf } from '../base/pem.ts';
import type { JsonObject } from '../resource/types.ts';

export class KeyPair {
  /** The certificate, with those that sign it behind it. */
  readonly certPem: string;
  readonly #keyPem: string;

  /** @param pems each may hold more than its name says: what stands beside is dropped */
  constructor({ certPem, keyPem }: { readonly certPem: string; readonly keyPem: string }) {
    this.certPem = certificatesOf(certPem);
    this.#keyPem = privateKeyOf(keyPem);
  }

  /** The Secret of Envoy's API. Only the encoder of resources asks for it. */
  toSecret(name: string): JsonObject {
    return { name, tlsCertificate: { certificateChain: inlineText(this.certPem), privateKey: inlineText(this.#keyPem) } };
  }

  /** The same without the key, for people. */
  toShown(name: string): JsonObject {
    return { name, tlsCertificate: { certificateChain: inlineText(this.certPem), privateKey: { inlineString: 'not shown' } } };
  }
}

/** A DataSource of Envoy with a text. */
export function inlineText(text: string): JsonObject {
  return { inlineBytes: Buffer.from(text).toString('base64') };
}
