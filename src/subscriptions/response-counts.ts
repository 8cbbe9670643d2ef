// The numbers of responses that one side of a stream has sent, and of the answers of the other (kds-wire 4). In proto3 JSON zeros
// are left out and uint64 are strings.
import type { JsonObject } from '../resource/types.ts';

type ResponseCounts = { readonly sent: number; readonly acknowledged: number; readonly rejected: number };

type MutableCounts = { -readonly [key in keyof ResponseCounts]: number };

const NOTHING: ResponseCounts = { sent: 0, acknowledged: 0, rejected: 0 };

/** The sum of all types. */
export function totalOf(counts: Readonly<Record<string, ResponseCounts>>): ResponseCounts {
  return Object.values(counts).reduce(
    (total, { sent, acknowledged, rejected }) => ({
      sent: total.sent + sent,
      acknowledged: total.acknowledged + acknowledged,
      rejected: total.rejected + rejected,
    }),
    NOTHING,
  );
}

/** The counts of a stream. They change in place: each change of a policy is sent to thousands of zones or proxies, and all answer it. */
export class RunningCounts {
  readonly #types = new Map<string, MutableCounts>();
  /** The type and the counts that were raised last: a change mostly concerns one type. */
  #lastType = '';
  #last: MutableCounts | null = null;
  /** The time in milliseconds since 1970. A Date for each event would live until the next event. */
  #lastMs = NaN;

  /** Counts a response of `type`, or an answer to it. */
  add(type: string, what: keyof ResponseCounts, at: Date): void {
    if (this.#last === null || this.#lastType !== type) {
      this.#last = this.#types.get(type) ?? { ...NOTHING };
      this.#lastType = type;
      this.#types.set(type, this.#last);
    }
    this.#last[what] += 1;
    this.#lastMs = at.getTime();
  }

  /** The time at which the last was counted; null before the first. */
  get lastAt(): Date | null {
    return Number.isNaN(this.#lastMs) ? null : new Date(this.#lastMs);
  }

  /** The counts by type. */
  get all(): Readonly<Record<string, ResponseCounts>> {
    return Object.fromEntries(this.#types);
  }
}

export function renderCounts({ sent, acknowledged, rejected }: ResponseCounts): JsonObject {
  return {
    ...(sent > 0 && { responsesSent: String(sent) }),
    ...(acknowledged > 0 && { responsesAcknowledged: String(acknowledged) }),
    ...(rejected > 0 && { responsesRejected: String(rejected) }),
  };
}

/** The fields without those that proto3 JSON leaves out. */
export function withoutZeros(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== '' && value !== 0 && value !== false));
}
