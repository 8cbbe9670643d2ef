// Since when each (zone, type) waits for its peer to accept what was sent: the lag that a stuck stream shows. Only the newest
// stream of a zone counts, and a zone without one has no lag here: it may be well served by another replica.

type ZoneStream = { readonly streamId: string; readonly since: Map<string, Date | null> };

export class PendingResponses {
  readonly #zones = new Map<string, ZoneStream>();

  open(zone: string, streamId: string): void {
    this.#zones.set(zone, { streamId, since: new Map() });
  }

  close(zone: string, streamId: string): void {
    if (this.#zones.get(zone)?.streamId === streamId) this.#zones.delete(zone);
  }

  /** A response left. A refused one before it still counts: the peer has not been in step since. */
  sent(zone: string, streamId: string, type: string, now: Date): void {
    const since = this.#types(zone, streamId);
    since?.set(type, since.get(type) ?? now);
  }

  accepted(zone: string, streamId: string, type: string): void {
    this.#types(zone, streamId)?.set(type, null);
  }

  forget(zone: string): void {
    this.#zones.delete(zone);
  }

  /** The lag in seconds of every type that was ever sent on a stream that is open. */
  *lags(now: Date): Generator<{ zone: string; type: string; seconds: number }> {
    for (const [zone, { since }] of this.#zones) {
      for (const [type, start] of since) {
        yield { zone, type, seconds: start === null ? 0 : Math.max(0, now.getTime() - start.getTime()) / 1000 };
      }
    }
  }

  #types(zone: string, streamId: string): Map<string, Date | null> | undefined {
    const stream = this.#zones.get(zone);
    return stream?.streamId === streamId ? stream.since : undefined;
  }
}
