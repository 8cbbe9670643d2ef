// The lag of each (zone, type): the time since the peer was last in step. Only the newest stream of a zone counts. A zone without a
// stream has no lag here, because another replica may serve it.

type TypeState = {
  /** When the peer was last in step; null while it is in step. */
  since: Date | null;
  /** A response waits for its answer. */
  isOut: boolean;
  /** The number of refused and suspected resources. */
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

  /** A response was sent. The lag of an earlier refused response continues. */
  sent(zone: string, streamId: string, type: string, now: Date): void {
    const types = this.#types(zone, streamId);
    if (types === undefined) return;
    const state = types.get(type);
    if (state === undefined) types.set(type, { since: now, isOut: true, nacked: 0 });
    else {
      state.since ??= now;
      state.isOut = true;
    }
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
