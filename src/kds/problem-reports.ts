// Reports the sync problems of one type on one stream: refused resources, resources that the peer cannot read, and withheld
// resources. Each is reported once, when it changes.
import type { Logger } from '../base/log.ts';
import type { Item } from './draft.ts';
import type { SyncObserver } from './sync-events.ts';
import type { RateLimitedLogger } from '../grpc/rate-limited-logger.ts';
import type { Subscription } from './subscription.ts';

/** The largest number of resources that one log line, or one burst of lines, names. */
const MAX_NAMED = 10;

export type ProblemReportsOptions = {
  readonly peer: string;
  readonly streamId: string;
  readonly type: string;
  /** Resources that the peer keeps, because their mesh never existed here. */
  readonly held: ReadonlyMap<string, string>;
  readonly observe: SyncObserver;
  readonly log: Logger;
  /** For problems that a peer can cause at any rate. */
  readonly warnings: RateLimitedLogger;
};

export class ProblemReports {
  readonly #options: ProblemReportsOptions;
  /** The withheld resources that were last reported. */
  #withheld: ReadonlyMap<string, string> = new Map();
  /** Revision of the refused resources that were last reported. */
  #nackedRevision = 0;
  /** Why the full state is not sent; null if it fits into a message. */
  #tooLarge: string | null = null;

  constructor(options: ProblemReportsOptions) {
    this.#options = options;
  }

  /** Reports the refused resources when they have changed. */
  refused({ nacked }: Pick<Subscription, 'nacked'>): void {
    if (nacked.revision === this.#nackedRevision) return;
    this.#nackedRevision = nacked.revision;
    const { peer, streamId, type, observe, warnings } = this.#options;
    const refused = byWireName(nacked.refused);
    const suspects = byWireName(nacked.suspects);
    observe({ kind: 'refused', peer, streamId, type, refused, suspects });
    const [name, reason] = [...refused, ...suspects][0] ?? [];
    if (name === undefined) return;
    const about = { type, refused: [...refused.keys()].slice(0, MAX_NAMED), of: refused.size, suspects: suspects.size, reason };
    warnings.warn(`${type} ${refused.size > 0 ? 'refused' : 'suspected'}`, about, 'the peer refused resources');
  }

  /** Reports the resources that this peer cannot read when they have changed. */
  withheld({ withheld }: Pick<Subscription, 'withheld'>): void {
    const { type, held, log } = this.#options;
    const resources = held.size === 0 ? withheld : new Map([...held, ...withheld]);
    const news = [...resources].filter(([name, reason]) => this.#withheld.get(name) !== reason);
    if (news.length === 0 && resources.size === this.#withheld.size) return;
    this.#withheld = resources;
    this.#reportWithheld();
    for (const [name, reason] of news.slice(0, MAX_NAMED))
      log.warn(
        { type, name, reason },
        held.has(name) ? 'the removal of this resource is held' : 'the peer cannot take this resource; it is withheld',
      );
  }

  /** Nothing of the type is sent: the full state has more bytes than a message may have. */
  tooLarge(bytes: number, limit: number): void {
    if (this.#tooLarge !== null) return;
    const { type, log } = this.#options;
    const message = `the state of type ${type} is ${String(bytes)} bytes, over the limit of ${String(limit)} for one message to this peer`;
    this.#tooLarge = message;
    this.#reportWithheld();
    log.error({ type, bytes, limit }, message);
  }

  /** The full state fits into a message. */
  fits(): void {
    if (this.#tooLarge === null) return;
    this.#tooLarge = null;
    this.#reportWithheld();
  }

  #reportWithheld(): void {
    const { peer, streamId, type, observe } = this.#options;
    observe({ kind: 'withheld', peer, streamId, type, resources: this.#withheld, all: this.#tooLarge });
  }
}

function byWireName(items: ReadonlyMap<Item, string>): Map<string, string> {
  return new Map([...items].map(([{ wireName }, reason]) => [wireName, reason]));
}
