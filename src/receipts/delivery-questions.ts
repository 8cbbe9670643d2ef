// What zones have of one resource, from the replicas with their streams. This replica asks the others about the zones that it has no
// stream of. Invariant: an answer includes every change that was committed before its question.
import type { Delivery, OpenSenders } from '../kds/open-senders.ts';
import { ReplicaQuestions } from '../replicas/replica-questions.ts';
import type { ResourceKey } from '../resource/types.ts';
import type { Following } from '../store/follow-feed.ts';
import type { ResourceStore } from '../store/resource-store.ts';

/** Characters of a reason in an answer. */
const MAX_REASON = 200;

/** `since` is in milliseconds since 1970. */
type Row = readonly [zone: string, kind: Delivery['kind'], since: number | null, reason: string];

export type DeliveryQuestionsOptions = Following & {
  readonly store: Pick<ResourceStore, 'changes' | 'mark'>;
  readonly instanceId: string;
  readonly senders: Pick<OpenSenders, 'zones' | 'caughtUp' | 'deliveryNow'>;
};

export class DeliveryQuestions {
  readonly #questions: ReplicaQuestions<ResourceKey, Row>;

  constructor({ store, instanceId, senders, clock, log }: DeliveryQuestionsOptions) {
    const answer = async (row: ResourceKey): Promise<Row[]> => {
      await senders.caughtUp();
      return senders.zones().flatMap((zone) => {
        const delivery = senders.deliveryNow(zone, row);
        return delivery === undefined ? [] : [rowOf(zone, delivery)];
      });
    };
    this.#questions = new ReplicaQuestions({ store, instanceId, clock, log, subject: 'delivery', answer });
  }

  /** Answers other replicas until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#questions.run(signal);
  }

  /** By the name of the zone; a zone is missing if no replica answers for it in time. Rejects when the store does not answer. */
  async of({ type, mesh, name }: ResourceKey, zones: ReadonlySet<string>, signal: AbortSignal): Promise<Map<string, Delivery>> {
    if (zones.size === 0) return new Map();
    const rows = await this.#questions.ask({ type, mesh, name }, zones, 0, signal);
    return new Map([...rows].map(([zone, row]) => [zone, deliveryOf(row)]));
  }
}

function rowOf(zone: string, delivery: Delivery): Row {
  const since = 'since' in delivery ? (delivery.since?.getTime() ?? null) : null;
  return [zone, delivery.kind, since, 'reason' in delivery ? delivery.reason.slice(0, MAX_REASON) : ''];
}

function deliveryOf([, kind, time, reason]: Row): Delivery {
  if (kind === 'confirmed' || kind === 'waiting') return { kind, since: time === null ? null : new Date(time) };
  return kind === 'unseen' ? { kind } : { kind, reason };
}
