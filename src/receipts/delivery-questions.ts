// The state of a page of resources in zones that are connected to other replicas: this replica asks the others about them. Invariant: an
// answer includes every change that was committed before its question.
import type { Delivery, OpenSenders } from '../kds/sender/open-senders.ts';
import type { ReplicaQuestions, Subject } from '../replicas/replica-questions.ts';
import { questionParts } from '../replicas/question-parts.ts';

/** Characters of a reason in an answer about one resource, and about several. */
const MAX_REASON = 200;
const MAX_REASON_OF_MANY = 60;
/** Resources of one question. */
const MAX_NAMES = 100;
/** Bytes of the JSON of what one zone has. */
const MAX_ROW_BYTES = 4_500;

/** Resources of one type and mesh. @property isBrief without the times, in a third of the bytes where a zone has all of them */
export type DeliveryQuestion = {
  readonly type: string;
  readonly mesh: string;
  readonly names: readonly string[];
  readonly isBrief?: boolean;
};

/** Zone → the state of one resource there. */
export type Deliveries = ReadonlyMap<string, Delivery>;

/** Resources that are alike, as indexes into the names of the question. `since` is in milliseconds since 1970. */
type Group = readonly [kind: Delivery['kind'], since: number | null, reason: string, at: readonly number[]];
/** Of a brief answer, where all resources are alike. */
type WholeGroup = readonly [kind: Delivery['kind'], since: null, reason: string, at: 'all'];
type Row = readonly [zone: string, groups: readonly (Group | WholeGroup)[]];

export type DeliveryQuestionsOptions = {
  readonly questions: ReplicaQuestions;
  readonly senders: Pick<OpenSenders, 'zones' | 'caughtUp' | 'deliveryNow'>;
};

export class DeliveryQuestions {
  readonly #questions: Subject<DeliveryQuestion, Row>;

  constructor({ questions, senders }: DeliveryQuestionsOptions) {
    const answer = async ({ type, mesh, names, isBrief = false }: DeliveryQuestion): Promise<Row[]> => {
      await senders.caughtUp();
      const asked = names.slice(0, MAX_NAMES);
      return senders.zones().map((zone): Row => {
        const deliveries = asked.map((name) => senders.deliveryNow(zone, { type, mesh, name }));
        return [zone, isBrief ? briefGroupsOf(deliveries) : groupsOf(deliveries)];
      });
    };
    this.#questions = questions.about('deliveries', answer);
  }

  /**
   * For each name, in their order: what the zones have. A zone is missing if no replica answers for it in time, or if its answer is too
   * long. Rejects when the store does not answer.
   */
  async of(
    { type, mesh, names, isBrief = false }: DeliveryQuestion,
    zones: ReadonlySet<string>,
    signal: AbortSignal,
  ): Promise<Deliveries[]> {
    if (zones.size === 0) return names.map(() => new Map());
    const asked = questionParts(names, MAX_NAMES).map(async (part) => {
      const found = part.map(() => new Map<string, Delivery>());
      const question = { type, mesh, names: part, ...(isBrief && { isBrief }) };
      for (const [zone, groups] of (await this.#questions.ask(question, zones, 0, signal)).values())
        for (const group of groups) {
          const delivery = deliveryOf(group);
          for (const at of group[3] === 'all' ? found.keys() : group[3]) found[at]?.set(zone, delivery);
        }
      return found;
    });
    return (await Promise.all(asked)).flat();
  }
}

/** The largest groups that fit one row of an answer. */
function groupsOf(deliveries: readonly (Delivery | undefined)[]): Group[] {
  const most = deliveries.length === 1 ? MAX_REASON : MAX_REASON_OF_MANY;
  const groups = new Map<string, { readonly group: Group; readonly at: number[] }>();
  for (const [at, delivery] of deliveries.entries()) {
    if (delivery === undefined) continue;
    const since = 'since' in delivery ? (delivery.since?.getTime() ?? null) : null;
    const reason = 'reason' in delivery ? delivery.reason.slice(0, most) : '';
    const key = JSON.stringify([delivery.kind, since, reason]);
    const alike = groups.get(key)?.at ?? [];
    alike.push(at);
    groups.set(key, { group: [delivery.kind, since, reason, alike], at: alike });
  }
  let bytes = 0;
  const fits = (group: unknown): boolean => (bytes += Buffer.byteLength(JSON.stringify(group)) + 1) <= MAX_ROW_BYTES;
  return [...groups.values()]
    .map(({ group }) => group)
    .sort((a, b) => b[3].length - a[3].length)
    .filter(fits);
}

/** The same without the times. */
function briefGroupsOf(deliveries: readonly (Delivery | undefined)[]): (Group | WholeGroup)[] {
  const groups = groupsOf(
    deliveries.map((delivery) => (delivery !== undefined && 'since' in delivery ? { ...delivery, since: null } : delivery)),
  );
  const [first] = groups;
  if (first === undefined || first[3].length < deliveries.length) return groups;
  return [[first[0], null, first[2], 'all']];
}

function deliveryOf([kind, time, reason]: Group | WholeGroup): Delivery {
  if (kind === 'confirmed' || kind === 'waiting') return { kind, since: time === null ? null : new Date(time) };
  return kind === 'unseen' ? { kind } : { kind, reason };
}
