// Since when each (zone, type) waits for its peer to accept a response: the lag of a stuck stream. Only the newest stream of a zone
// counts, and a zone without one has no lag here: another replica may serve it.

type TypeState = {
  /** When the peer was last in step; null while it is. */
  since: Date | null;
  /** A response has no answer yet. */
  isOut: boolean;
  /** Resources that the peer refused, or may have refused. */
  nacked: number;
};

type ZoneStream = { readonly streamId: string; readonly types: Map<string, TypeState> };

export class PendingResponses {
  readonly #zones = new Map<string, ZoneStream>();

  open(zone: string, streamId: string): void {
    this.#zones.set(zone, { streamId, types: new Map() });
  }

  close(zone: string, streamId: string): void {
    if (this.#zones.get(zone)?.streamId === streamId) this.#zones.delete(zone);
  }

  /** A response left. A refused one before it still counts: the peer has not been in step since. */
  sent(zone: string, streamId: string, type: string, now: Date): void {
    const types = this.#types(zone, streamId);
    if (types === undefined) return;
    const { since = null, nacked = 0 } = types.get(type) ?? {};
    types.set(type, { since: since ?? now, isOut: true, nacked });
  }

  /** The peer answered with a NACK: its lag continues. */
  rejected(zone: string, streamId: string, type: string): void {
    const state = this.#types(zone, streamId)?.get(type);
    if (state !== undefined) state.isOut = false;
  }

  accepted(zone: string, streamId: string, type: string): void {
    const state = this.#types(zone, streamId)?.get(type);
    if (state === undefined) return;
    state.isOut = false;
    settle(state);
  }

  /** The peer lacks this many resources because of its NACKs. */
  nacked(zone: string, streamId: string, type: string, count: number): void {
    const state = this.#types(zone, streamId)?.get(type);
    if (state === undefined) return;
    state.nacked = count;
    settle(state);
  }

  forget(zone: string): void {
    this.#zones.delete(zone);
  }

  /** The lag in seconds of every type that was ever sent on a stream that is open. */
  *lags(now: Date): Generator<{ zone: string; type: string; seconds: number }> {
    for (const [zone, { types }] of this.#zones) {
      for (const [type, { since }] of types) {
        yield { zone, type, seconds: since === null ? 0 : Math.max(0, now.getTime() - since.getTime()) / 1000 };
      }
    }
  }

  #types(zone: string, streamId: string): Map<string, TypeState> | undefined {
    const stream = this.#zones.get(zone);
    return stream?.streamId === streamId ? stream.types : undefined;
  }
}

function settle(state: TypeState): void {
  if (!state.isOut && state.nacked === 0) state.since = null;
}
