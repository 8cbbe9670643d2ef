// Questions to the other replicas about several changes: the number of zones that are connected there and have each. With ten
// thousand zones their states do not fit an answer. Invariant: an answer includes every change that was committed before its
// question.
import type { ReplicaQuestions, Subject } from '../replicas/replica-questions.ts';
import type { ResourceKey } from '../resource/types.ts';
import { questionParts } from '../replicas/question-parts.ts';
import { noTally, type Tally } from './peer-marks.ts';
import type { Change } from './kept-change.ts';
import type { Logged, RecentChanges } from './recent-changes.ts';

/** The number of changes of one question. */
export const MAX_TALLIES = 25;

/** @property withheld the number of zones that cannot read the change */
export type ZonesTally = Tally & { withheld: number };

/** The change of a row with this version; null for a removal. */
export type TalliedChange = ResourceKey & { readonly version: number | null };

type Question = {
  readonly changes: readonly (readonly [type: string, mesh: string, name: string, version: number | null])[];
};
/** A replica of an earlier version does not count what is withheld. */
type Counts = readonly [sent: number, acknowledged: number, refused: number, slowestMs: number, withheld?: number];
type Row = readonly [instanceId: string, tallies: readonly Counts[]];

export type TallyQuestionsOptions = {
  readonly questions: ReplicaQuestions;
  readonly instanceId: string;
  /** Settles when every change that is committed now is known here. */
  readonly caughtUp: () => Promise<void>;
  /** Counts the zones that are connected here. */
  readonly count: (change: TalliedChange) => Promise<ZonesTally>;
};

export class TallyQuestions {
  readonly #questions: Subject<Question, Row>;

  constructor({ questions, instanceId, caughtUp, count }: TallyQuestionsOptions) {
    const answer = async ({ changes }: Question): Promise<Row[]> => {
      await caughtUp();
      const tallies: Counts[] = [];
      for (const [type, mesh, name, version] of changes.slice(0, MAX_TALLIES)) {
        const { sent, acknowledged, refused, slowestMs, withheld } = await count({ type, mesh, name, version });
        tallies.push([sent, acknowledged, refused, slowestMs, withheld]);
      }
      return [[instanceId, tallies]];
    };
    this.#questions = questions.about('tally', answer);
  }

  /** The sums over these other replicas, in the order of the changes. Rejects when the store does not answer. */
  async of(replicas: ReadonlySet<string>, changes: readonly TalliedChange[], signal: AbortSignal): Promise<ZonesTally[]> {
    if (replicas.size === 0) return changes.map(() => noZones());
    const asked = changes.map(({ type, mesh, name, version }) => [type, mesh, name, version] as const);
    const answers = questionParts(asked, MAX_TALLIES).map(async (part) => {
      const rows = await this.#questions.ask({ changes: part }, replicas, 0, signal);
      return part.map((_change, at) => sumOf([...rows.values()].map(([, tallies]) => tallies[at] ?? [0, 0, 0, 0])));
    });
    return (await Promise.all(answers)).flat();
  }
}

/** The peers with a stream to this process, by their state. Without a kept change it is that of the resource as it is now. */
export function tallyOfConnected(changes: RecentChanges, what: Change | Logged | null): ZonesTally {
  const tally = noZones();
  if (what === null) return tally;
  for (const [name, { streams }] of changes.peers) {
    if (streams.size === 0) continue;
    const { state, acknowledgedMs } = changes.delivery(what, name);
    if (state === 'withheld') tally.withheld += 1;
    if (state === 'acknowledged') tally.acknowledged += 1;
    if (state === 'refused') tally.refused += 1;
    if (state === 'sent' || state === 'acknowledged' || state === 'refused') tally.sent += 1;
    tally.slowestMs = Math.max(tally.slowestMs, acknowledgedMs ?? 0);
  }
  return tally;
}

export function noZones(): ZonesTally {
  return { ...noTally(), withheld: 0 };
}

function sumOf(all: readonly Counts[]): ZonesTally {
  const sum = noZones();
  for (const [sent, acknowledged, refused, slowestMs, withheld = 0] of all) {
    sum.sent += sent;
    sum.acknowledged += acknowledged;
    sum.refused += refused;
    sum.withheld += withheld;
    sum.slowestMs = Math.max(sum.slowestMs, slowestMs);
  }
  return sum;
}
