// The connection of this zone to global, for questions that the zone asks and only a Meridian global answers. Its streams are elsewhere.
// Invariant: a question has a time limit, and ends with the connection.
import { MeridianError } from '../../base/errors.ts';

/** Asks global a question. Resolves to null if global knows no questions. @param limitMs milliseconds until the question fails */
export type AskGlobal = (question: Buffer, limitMs: number, signal: AbortSignal) => Promise<Buffer | null>;

/** The reason why a zone without a global sends nothing. */
export const NO_GLOBAL = 'this zone has no global';

type Peer = { readonly isMeridian: boolean; readonly ask: AskGlobal };

/** `kuma`: the global is not Meridian. `none`: this process has no connection. */
export type GlobalKind = 'meridian' | 'kuma' | 'none';

export class GlobalLink {
  #peer: Peer | null = null;

  /** Adds a connection. Call the result when it has ended. */
  connected(peer: Peer): () => void {
    this.#peer = peer;
    return () => {
      if (this.#peer === peer) this.#peer = null;
    };
  }

  get kind(): GlobalKind {
    if (this.#peer === null) return 'none';
    return this.#peer.isMeridian ? 'meridian' : 'kuma';
  }

  /**
   * Resolves to null if global knows no questions.
   * @throws MeridianError `unavailable` without a connection, or without an answer in time
   */
  async ask(question: Buffer, limitMs: number, signal: AbortSignal): Promise<Buffer | null> {
    if (this.#peer === null) throw new MeridianError('unavailable', 'this control plane is not connected to global now');
    return await this.#peer.ask(question, limitMs, signal);
  }
}
