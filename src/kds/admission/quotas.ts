// Limits the resources of global that one zone may use. Defaults are far above real use. SPEC.md says what ends a stream. The error names
// the exceeded quota and its setting.
import type { Write, WriteOutcome } from '../../store/resource-store.ts';
import { nackedResource, type NackedResource } from '../protocol/nack.ts';

export type ZoneQuotas = {
  /** The number of open streams of one kind. A zone needs one of each kind, and two for a moment when it reconnects. */
  readonly streams: number;
  /** The number of rows that a zone has on global, and of resources that one response may name. */
  readonly rows: number;
  /** The size of one resource on the wire, in bytes. */
  readonly resourceBytes: number;
  /** The number of full states that a zone gets without a wait, and the milliseconds for each further one. */
  readonly fullStates: number;
  readonly fullStateInterval: number;
};

export const DEFAULT_QUOTAS: ZoneQuotas = {
  ...{ streams: 8, rows: 100_000, resourceBytes: 2 * 1024 * 1024 },
  ...{ fullStates: 3, fullStateInterval: 10_000 },
};

/** Counts the rows of one zone. The first creation starts the count. */
export class RowQuota {
  readonly #limit: number;
  readonly #count: () => Promise<number>;
  #rows: number | null = null;

  /** @param count the rows that the zone has now */
  constructor(limit: number, count: () => Promise<number>) {
    this.#limit = limit;
    this.#count = count;
  }

  /** The writes that fit, in their order, and refusals of the others. The deletions among them make room for later writes. */
  async admit<W extends Write>(writes: readonly W[]): Promise<{ admitted: readonly W[]; refused: NackedResource[] }> {
    const created = writes.filter(({ op }) => op === 'create').length;
    if (created === 0) return { admitted: writes, refused: [] };
    this.#rows ??= await this.#count();
    let room = this.#limit - this.#rows;
    if (created <= room) return { admitted: writes, refused: [] };
    const reason = `the zone has ${String(this.#rows)} resources on global, which takes ${String(this.#limit)}; delete some, or raise multizone.global.kds.quotas.rows on global`;
    const refused: NackedResource[] = [];
    const admitted = writes.filter(({ op, key }) => {
      if (op !== 'create' || room-- > 0) return true;
      refused.push(nackedResource(key.type, key, reason));
      return false;
    });
    return { admitted, refused };
  }

  /** Counts the outcomes of the writes. */
  stored(outcomes: readonly WriteOutcome[]): void {
    if (this.#rows === null) return;
    for (const { result } of outcomes) {
      if (result === 'created') this.#rows += 1;
      else if (result === 'deleted') this.#rows -= 1;
    }
  }
}

/** The reason why the full state of a zone waits. */
export function waitsForFullState(waitMs: number): string {
  const seconds = String(Math.ceil(waitMs / 1_000));
  return (
    `the zone asks for its full state too often: the next one is sent in ${seconds} s. Check why its connection does not last, and ` +
    'why it does not say which versions it has; multizone.global.kds.quotas.fullStates and fullStateInterval on global are the limit'
  );
}
