// How many streams of each kind every zone has open. Invariant: nothing is kept of a zone without streams.
import type { StreamKind } from './sync-events.ts';

type OpenStream = { readonly zone: string; readonly kind: StreamKind };

export class OpenStreams {
  readonly #streams = new Map<string, Set<OpenStream>>();

  add(stream: OpenStream): void {
    const id = idOf(stream);
    this.#streams.set(id, (this.#streams.get(id) ?? new Set()).add(stream));
  }

  /** A stream that was never added changes nothing. */
  delete(stream: OpenStream): void {
    const id = idOf(stream);
    const streams = this.#streams.get(id);
    streams?.delete(stream);
    if (streams?.size === 0) this.#streams.delete(id);
  }

  /** How many of the same zone and kind are open. */
  count(like: OpenStream): number {
    return this.#streams.get(idOf(like))?.size ?? 0;
  }
}

function idOf({ zone, kind }: OpenStream): string {
  return JSON.stringify([zone, kind]);
}
