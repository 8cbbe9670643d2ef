// The state of a page of resources in zones that are connected to other replicas: this replica asks the others about them. Invariant: an
// answer includes every change that was committed before its question.
import type { DeliveryNow, StateNow } from '../kds/sender/delivery.ts';
import type { OpenSenders } from '../kds/sender/open-senders.ts';
import type { ReplicaQuestions, Subject } from '../replicas/replica-questions.ts';
import { questionParts } from '../replicas/question-parts.ts';

/** The limits of a reason in an answer about one resource, and about several, in characters. */
const MAX_REASON = 200;
const MAX_REASON_OF_MANY = 60;
/** The number of resources of one question. */
const MAX_NAMES = 100;
/** The limit of the JSON of what one zone has, in bytes. */
const MAX_ROW_BYTES = 4_500;

/**
 * Resources of one type and mesh.
 * @property isBrief leaves out the times, which takes a third of the bytes where a zone has all of them
 */
export type DeliveryQuestion = {
  readonly type: string;
  readonly mesh: string;
  readonly names: readonly string[];
  readonly isBrief?: boolean;
};

/** The state of one resource, by zone. */
export type Deliveries = ReadonlyMap<string, DeliveryNow>;

/** The states on the wire. Replicas of other versions know these words. */
const WORDS = {
  acknowledged: 'confirmed',
  pending: 'waiting',
  refused: 'refused',
  withheld: 'withheld',
  hidden: 'unseen',
} as const satisfies Record<StateNow, string>;
type Word = (typeof WORDS)[StateNow];
const STATES = new Map(Object.entries(WORDS).map(([state, word]) => [word, state as StateNow]));

/** Resources that are alike, as indexes into the names of the question. `since` is in milliseconds since 1970. */
type Group = readonly [word: Word, since: number | null, reason: string, at: readonly number[]];
/** A group of a brief answer, where all resources are alike. */
type WholeGroup = readonly [word: Word, since: null, reason: string, at: 'all'];
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
   * What the zones have of each name, in the order of the names. A zone is missing if no replica answers for it in time, or if
   * its answer is too long. Rejects when the store does not answer.
   */
  async of(
    { type, mesh, names, isBrief = false }: DeliveryQuestion,
    zones: ReadonlySet<string>,
    signal: AbortSignal,
  ): Promise<Deliveries[]> {
    if (zones.size === 0) return names.map(() => new Map());
    const asked = questionParts(names, MAX_NAMES).map(async (part) => {
      const found = part.map(() => new Map<string, DeliveryNow>());
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
function groupsOf(deliveries: readonly (DeliveryNow | undefined)[]): Group[] {
  const most = deliveries.length === 1 ? MAX_REASON : MAX_REASON_OF_MANY;
  const groups = new Map<string, { readonly group: Group; readonly at: number[] }>();
  for (const [at, delivery] of deliveries.entries()) {
    if (delivery === undefined) continue;
    const word = WORDS[delivery.state];
    const since = delivery.since?.getTime() ?? null;
    const reason = delivery.reason?.slice(0, most) ?? '';
    const key = JSON.stringify([word, since, reason]);
    const alike = groups.get(key)?.at ?? [];
    alike.push(at);
    groups.set(key, { group: [word, since, reason, alike], at: alike });
  }
  let bytes = 0;
  const fits = (group: unknown): boolean => (bytes += Buffer.byteLength(JSON.stringify(group)) + 1) <= MAX_ROW_BYTES;
  return [...groups.values()]
    .map(({ group }) => group)
    .sort((a, b) => b[3].length - a[3].length)
    .filter(fits);
}

/** The groups without the times. */
function briefGroupsOf(deliveries: readonly (DeliveryNow | undefined)[]): (Group | WholeGroup)[] {
  const groups = groupsOf(deliveries.map((delivery) => (delivery === undefined ? undefined : { ...delivery, since: null })));
  const [first] = groups;
  if (first === undefined || first[3].length < deliveries.length) return groups;
  return [[first[0], null, first[2], 'all']];
}

function deliveryOf([word, time, reason]: Group | WholeGroup): DeliveryNow {
  return {
    state: STATES.get(word) ?? 'pending',
    reason: reason === '' ? null : reason,
    since: time === null ? null : new Date(time),
  };
}
