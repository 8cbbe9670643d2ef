// Streams of many zones. Those of one zone are found without a look at the others: a zone that connects again asks for them several times.

export class StreamsByZone<S extends { readonly zone: string }> {
  readonly #zones = new Map<string, Set<S>>();

  add(stream: S): void {
    const known = this.#zones.get(stream.zone);
    if (known === undefined) this.#zones.set(stream.zone, new Set([stream]));
    else known.add(stream);
  }

  delete(stream: S): void {
    const known = this.#zones.get(stream.zone);
    known?.delete(stream);
    if (known?.size === 0) this.#zones.delete(stream.zone);
  }

  /** The streams of a zone as they are now, the oldest first: the result does not change when streams end. */
  of(zone: string): readonly S[] {
    return [...(this.#zones.get(zone) ?? [])];
  }

  has(zone: string): boolean {
    return this.#zones.has(zone);
  }

  *all(): Generator<S> {
    for (const streams of this.#zones.values()) yield* streams;
  }
}
