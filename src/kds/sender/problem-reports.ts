// Reports the sync problems of one type on one stream: refused resources, resources that the peer cannot read, and withheld
// resources. Each is reported once, when it changes.
import type { Logger } from '../../base/log.ts';
import { MAX_NAMED } from '../protocol/refusal-report.ts';
import type { SyncObserver } from '../protocol/sync-events.ts';
import type { RateLimitedLogger } from '../../base/rate-limited-logger.ts';
import type { Subscription } from './subscription.ts';

/** The stream that all types of a peer share. */
export type ReportingStream = {
  readonly peer: string;
  readonly streamId: string;
  readonly observe: SyncObserver;
  readonly log: Logger;
  /** The log of problems that a peer can cause at any rate. */
  readonly warnings: RateLimitedLogger;
};

const NONE: ReadonlyMap<string, string> = new Map();

export class ProblemReports {
  readonly #stream: ReportingStream;
  readonly #type: string;
  readonly #held: ReadonlyMap<string, string>;
  /** The withheld resources that were last reported. */
  #withheld = NONE;
  /** The revision of the refused resources that were last reported. */
  #nackedRevision = 0;
  /** The reason why the full state is not sent, and the number of its resources; null if it fits into a message. */
  #tooLarge: { readonly reason: string; readonly count: number } | null = null;

  /** @param held resources that the peer keeps, because their mesh never existed here */
  constructor(stream: ReportingStream, type: string, held: ReadonlyMap<string, string> = NONE) {
    this.#stream = stream;
    this.#type = type;
    this.#held = held;
  }

  /** Reports the refused resources when they have changed. */
  refused({ nacked }: { readonly nacked: Pick<Subscription['nacked'], 'revision' | 'takeReport'> }): void {
    if (nacked.revision === this.#nackedRevision) return;
    this.#nackedRevision = nacked.revision;
    const type = this.#type;
    const { peer, streamId, observe, warnings } = this.#stream;
    const report = nacked.takeReport();
    observe({ kind: 'refused', peer, streamId, type, ...report });
    const { refused, suspects } = report;
    const reason = refused.reason ?? suspects.reason;
    if (reason === null) return;
    const about = { type, refused: refused.first, of: refused.count, suspects: suspects.count, reason };
    warnings.warn(`${type} ${refused.count > 0 ? 'refused' : 'suspected'}`, about, 'the peer refused resources');
  }

  /** Reports the resources that this peer cannot read when they have changed. */
  withheld(subscription: Pick<Subscription, 'withheld' | 'withheldCount'>): void {
    const held = this.#held;
    // This runs for every response.
    if (subscription.withheldCount + held.size + this.#withheld.size === 0) return;
    const resources = held.size === 0 ? subscription.withheld : new Map([...held, ...subscription.withheld]);
    const news = [...resources].filter(([name, reason]) => this.#withheld.get(name) !== reason);
    if (news.length === 0 && resources.size === this.#withheld.size) return;
    this.#withheld = resources;
    this.#reportWithheld();
    for (const [name, reason] of news.slice(0, MAX_NAMED))
      this.#stream.log.warn(
        { type: this.#type, name, reason },
        held.has(name) ? 'the removal of this resource is held' : 'the peer cannot take this resource; it is withheld',
      );
  }

  /**
   * Reports that nothing of the type is sent: the full state has more bytes than a message may have.
   * @param count the resources in it
   */
  tooLarge(bytes: number, limit: number, count: number): void {
    const before = this.#tooLarge;
    if (before?.count === count) return;
    const type = this.#type;
    const message = `the state of type ${type} is ${String(bytes)} bytes, over the limit of ${String(limit)} for one message to this peer`;
    this.#tooLarge = { reason: message, count };
    this.#reportWithheld();
    if (before === null) this.#stream.log.error({ type, bytes, limit }, message);
  }

  /** Notes that the full state fits into a message. */
  fits(): void {
    if (this.#tooLarge === null) return;
    this.#tooLarge = null;
    this.#reportWithheld();
  }

  #reportWithheld(): void {
    const { peer, streamId, observe } = this.#stream;
    const all = this.#tooLarge;
    const count = this.#withheld.size + (all?.count ?? 0);
    observe({ kind: 'withheld', peer, streamId, type: this.#type, resources: this.#withheld, all: all?.reason ?? null, count });
  }
}
