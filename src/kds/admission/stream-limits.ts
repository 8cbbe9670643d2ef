// Limits the number of open streams of a kind for each zone, and names the reasons for refusals.
import { OPENINGS_A_SECOND } from '../../grpc/stream-open-rate.ts';
import type { Caller } from '../protocol/peer-metadata.ts';
import type { StreamKind } from '../protocol/sync-events.ts';

type StreamOf = { readonly zone: string; readonly kind: StreamKind };
type CallerOf = StreamOf & Pick<Caller, 'authorization'>;

/** The reason for the refusal of a stream while too many of its zone wait. */
export function opensTooOften(kind: StreamKind): string {
  return `the zone opens streams of ${kind} too often: ${String(OPENINGS_A_SECOND)} a second are admitted; check why its connection does not last`;
}

/** The number of open streams of each zone and kind. A zone without streams takes no memory. */
export class OpenStreams {
  readonly #streams = new Map<string, Set<CallerOf>>();

  add(stream: CallerOf): void {
    const id = idOf(stream);
    this.#streams.set(id, (this.#streams.get(id) ?? new Set()).add(stream));
  }

  /** Removes a stream. A stream that was never added changes nothing. */
  delete(stream: CallerOf): void {
    const id = idOf(stream);
    const streams = this.#streams.get(id);
    streams?.delete(stream);
    if (streams?.size === 0) this.#streams.delete(id);
  }

  /** The number of open streams of the same zone and kind. */
  count(like: StreamOf): number {
    return this.#streams.get(idOf(like))?.size ?? 0;
  }

  /** Whether an open stream of the same zone and kind has the same credentials: the new one is then of that zone too. */
  hasCallerOf(stream: CallerOf): boolean {
    const credentials = JSON.stringify(stream.authorization);
    const open = [...(this.#streams.get(idOf(stream)) ?? [])];
    return open.some(({ authorization }) => JSON.stringify(authorization) === credentials);
  }
}

/** The reason for the refusal of a stream over the limit. */
export function tooManyStreams(kind: string, limit: number): string {
  return `the zone has ${String(limit)} open streams of ${kind}, which is the limit; end some, or raise multizone.global.kds.quotas.streams on global`;
}

/** The key of a zone and a kind. */
export function idOf({ zone, kind }: StreamOf): string {
  return JSON.stringify([zone, kind]);
}
