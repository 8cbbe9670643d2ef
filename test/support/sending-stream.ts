// The recent changes beside one type of the streams to a zone: the events that they see are those of real responses and answers.
import { ManualClock } from './manual-clock.ts';
import { put, subscribe } from './fake-entries.ts';
import { createLogger } from '../../src/base/log.ts';
import { RateLimitedLogger } from '../../src/base/rate-limited-logger.ts';
import type { LoggedChange } from '../../src/kds/log/changelog.ts';
import type { Draft } from '../../src/kds/sender/response-draft.ts';
import type { Subscription } from '../../src/kds/sender/subscription.ts';
import type { SyncEvent } from '../../src/kds/protocol/sync-events.ts';
import { TypeLog } from '../../src/kds/log/type-log.ts';
import { Nonces, TypeStream } from '../../src/kds/sender/type-stream.ts';
import type { Change } from '../../src/receipts/kept-change.ts';
import { RecentChanges } from '../../src/receipts/recent-changes.ts';

export const TYPE = 'MeshTimeout';
export const PEER = 'east';
/** Milliseconds since 1970. */
const NOW = 1_000;

type SubscribeOptions = NonNullable<Parameters<typeof subscribe>[1]>;

export class SendingStream {
  readonly subscription: Subscription;
  readonly stream: TypeStream;
  readonly #observe: (event: SyncEvent) => void;
  readonly #about: { readonly peer: string; readonly streamId: string; readonly type: string };
  #nonce = '';

  constructor(log: TypeLog, streamId: string, observe: (event: SyncEvent) => void, options: SubscribeOptions) {
    const clock = new ManualClock();
    const logger = createLogger('silent');
    const encode = ({ nonce }: { readonly nonce: string }): Buffer => {
      this.#nonce = nonce;
      return Buffer.alloc(10);
    };
    this.#about = { peer: PEER, streamId, type: TYPE };
    this.#observe = observe;
    this.subscription = subscribe(log, { known: new Map(), ...options });
    this.stream = new TypeStream(
      {
        ...{ peer: PEER, streamId, identifier: 'global', maxMessageBytes: 10_000, log: logger, clock, observe, encode },
        ...{
          fail: () => undefined,
          retry: () => undefined,
          lost: () => undefined,
          warnings: new RateLimitedLogger(logger, () => clock.elapsed()),
        },
      },
      { type: TYPE, subscription: this.subscription, nonces: new Nonces(), behindSince: null },
    );
  }

  /** Sends what is due, as the sender does. */
  send(): Draft | null {
    const draft = this.stream.next()?.draft ?? null;
    if (draft === null) return null;
    const { entries, removed, upTo: position, bytes } = draft;
    const { again } = this.subscription;
    this.#observe({ kind: 'sent', ...this.#about, position, again, resources: entries.length, removed: removed.length, bytes });
    return draft;
  }

  /** @param refusal null for an ACK */
  answer(refusal: string | null = null): void {
    const request = { node: { id: PEER }, typeUrl: TYPE, subscribe: [], unsubscribe: [], initialResourceVersions: new Map() };
    const errorDetail = refusal === null ? null : { code: 0, message: refusal, details: [] };
    this.stream.settle({ ...request, responseNonce: this.#nonce, errorDetail });
  }

  end(): void {
    this.stream.close();
    const { peer, streamId } = this.#about;
    this.#observe({ kind: 'closed', peer, streamId, stream: 'globalToZone', error: null });
  }
}

/** The log of one type, and the recent changes of it. */
export function setUpStreams() {
  const changes = new RecentChanges('globalToZone');
  const log = new TypeLog(TYPE);
  const observe = (event: SyncEvent): void => void changes.observe(event, NOW);
  const append = (name: string, more: Pick<LoggedChange, 'version' | 'position'> & Partial<LoggedChange>): Change =>
    changes.append(
      {
        ...{ type: TYPE, mesh: '', name, wireName: name, committedAt: null, isRemoval: more.version === null },
        ...{ isNew: more.version === 0, visibility: { to: 'all' }, ...more },
      },
      NOW,
    );
  return {
    ...{ changes, log, observe },
    connect: (streamId: string, options: SubscribeOptions = {}): SendingStream => {
      observe({ kind: 'opened', peer: PEER, streamId, stream: 'globalToZone', authorized: true });
      return new SendingStream(log, streamId, observe, options);
    },
    /** The zone subscribes to the type once more. */
    subscribeAgain: (before: SendingStream, streamId: string): SendingStream => {
      before.stream.close();
      observe({ kind: 'resubscribed', peer: PEER, streamId, type: TYPE });
      return new SendingStream(log, streamId, observe, {});
    },
    write: (name: string, version: number, more: Partial<LoggedChange> = {}): Change => {
      put(log, name, String(version));
      return append(name, { version, position: log.find(name)?.position ?? 0, ...more });
    },
    remove: (name: string): Change => {
      const slot = log.find(name);
      if (slot === undefined) throw new Error(`${name} is not in the log`);
      log.tombstone(slot);
      return append(name, { version: null, position: slot.position });
    },
    stateOf: (change: Change): string => changes.delivery(change, PEER).state,
  };
}
