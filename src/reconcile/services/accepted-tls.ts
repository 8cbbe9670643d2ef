// The acceptances of TLS in a mesh, from the insights of proxies: the servers that accept TLS, and the services that are still called in
// plain text. Invariant: the result depends only on the last facts of each proxy.
import { isObject, objectOf, textOf } from '../../resource/read-json.ts';
import type { JsonObject } from '../../resource/types.ts';

/** The acceptances of one proxy. */
export type TlsFacts = {
  /** Whether its inbounds accept TLS. */
  readonly isReady: boolean;
  /** The KRIs of the MeshServices that it calls in plain text. */
  readonly plaintextTo: readonly string[];
};

/**
 * Reads the acceptances of a proxy. Null means that the proxy has no certificate, or has not answered yet.
 * @param status the status of a DataplaneInsight
 */
export function tlsFactsOf(status: JsonObject): TlsFacts | null {
  const tls = status['tls'];
  if (!isObject(tls)) return null;
  const { isReady, plaintextTo } = objectOf(tls);
  return { isReady: isReady === true, plaintextTo: Array.isArray(plaintextTo) ? plaintextTo.map(textOf) : [] };
}

export class AcceptedTls {
  readonly #facts = new Map<string, TlsFacts>();
  /** Names of proxies by the KRI of a MeshService that they call in plain text. */
  readonly #plaintext = new Map<string, Set<string>>();
  /** Connected proxies with an identity that have not said yet what they accepted. */
  readonly #silent = new Set<string>();

  /**
   * Takes the acceptances of a proxy with an identity that is connected, or is no longer.
   * @param facts null if nothing is known
   * @returns the KRIs of MeshServices that may now demand TLS; null if all may
   */
  put(name: string, isCaller: boolean, facts: TlsFacts | null): Iterable<string> | null {
    const before = new Set(this.#facts.get(name)?.plaintextTo);
    const wasSilent = this.#silent.delete(name);
    if (isCaller && facts === null) this.#silent.add(name);
    if (facts === null) this.#facts.delete(name);
    else this.#facts.set(name, facts);
    const after = new Set(isCaller ? facts?.plaintextTo : []);
    for (const kri of after) this.#callersOf(kri).add(name);
    const left = [...before].filter((kri) => !after.has(kri));
    for (const kri of left) this.#leave(kri, name);
    return wasSilent && this.#silent.size === 0 ? null : left;
  }

  /** Whether a proxy with an identity calls a MeshService in plain text, or may do so. */
  isCalledInPlaintext(kri: string): boolean {
    return this.#silent.size > 0 || this.#plaintext.has(kri);
  }

  #callersOf(kri: string): Set<string> {
    let callers = this.#plaintext.get(kri);
    if (callers === undefined) this.#plaintext.set(kri, (callers = new Set()));
    return callers;
  }

  #leave(kri: string, name: string): void {
    const callers = this.#plaintext.get(kri);
    callers?.delete(name);
    if (callers?.size === 0) this.#plaintext.delete(kri);
  }
}
