// The progress of each zone with each type, from its stream in this process. Other replicas are asked about the zones that are connected there.
import { textOf } from '../resource/read-json.ts';
import { isOpen, subscriptionsOf } from '../resource/online-status.ts';
import type { JsonObject } from '../resource/types.ts';
import type { OpenSenders, TypeProgress } from '../kds/sender/open-senders.ts';
import type { ReplicaQuestions, Subject } from '../replicas/replica-questions.ts';
import { questionParts } from '../replicas/question-parts.ts';

/** The number of zones of one question. */
const MAX_ZONES = 100;

/** Times are in milliseconds since 1970. */
type TypeRow = readonly [
  type: string,
  behind: number,
  since: number | null,
  confirmedAt: number | null,
  refused: number,
  withheld: number,
];
type Row = readonly [zone: string, types: readonly TypeRow[]];
type Question = { readonly zones: readonly string[] };

export type ZoneProgressOptions = {
  readonly mode: 'global' | 'zone';
  readonly questions: ReplicaQuestions;
  readonly instanceId: string;
  readonly senders: Pick<OpenSenders, 'progressOf'>;
};

/** A zone with the spec of its ZoneInsight. */
export type AskedZone = { readonly name: string; readonly insight: JsonObject };

/** It is null if no replica with a stream of the zone has answered, or there is none. */
export type ZoneTypes = { readonly instanceId: string | null; readonly types: readonly TypeProgress[] | null };

export class ZoneProgress {
  readonly #options: ZoneProgressOptions;
  readonly #questions: Subject<Question, Row>;

  constructor(options: ZoneProgressOptions) {
    this.#options = options;
    const { questions, senders } = options;
    const answer = async ({ zones }: Question): Promise<Row[]> =>
      zones.flatMap((zone) => {
        const types = senders.progressOf(zone);
        return types === undefined ? [] : [rowOf(zone, types)];
      });
    this.#questions = questions.about('progress', answer);
  }

  /** The progress by the name of the zone. Rejects when the store does not answer. */
  async of(zones: readonly AskedZone[], signal: AbortSignal): Promise<Map<string, ZoneTypes>> {
    const { mode, instanceId, senders } = this.#options;
    const elsewhere = new Map<string, string>();
    const found = new Map<string, ZoneTypes>();
    for (const { name, insight } of zones) {
      const types = senders.progressOf(name);
      const at = types === undefined ? instanceOf(insight, mode) : instanceId;
      found.set(name, { instanceId: at, types: types ?? null });
      if (types === undefined && at !== null && at !== instanceId) elsewhere.set(name, at);
    }
    if (elsewhere.size === 0) return found;
    const names = [...elsewhere.keys()];
    const answers = questionParts(names, MAX_ZONES).map((part) => this.#questions.ask({ zones: part }, new Set(part), 0, signal));
    for (const rows of await Promise.all(answers))
      for (const [name, [, types]] of rows)
        found.set(name, { instanceId: elsewhere.get(name) ?? null, types: types.map(progressOf) });
    return found;
  }
}

/** The replica with the newest open stream of the zone; null without one. */
function instanceOf(insight: JsonObject, mode: 'global' | 'zone'): string | null {
  const open = subscriptionsOf(insight).findLast(isOpen);
  return open === undefined ? null : textOf(open[`${mode}InstanceId`]);
}

function rowOf(zone: string, types: readonly TypeProgress[]): Row {
  const rows = types.map(({ type, behind, since, confirmedAt, refused, withheld }): TypeRow => {
    const times = [since?.getTime() ?? null, confirmedAt?.getTime() ?? null] as const;
    return [type, behind, ...times, refused, withheld];
  });
  return [zone, rows];
}

function progressOf([type, behind, since, confirmedAt, refused, withheld]: TypeRow): TypeProgress {
  const date = (ms: number | null): Date | null => (ms === null ? null : new Date(ms));
  return { type, behind, since: date(since), confirmedAt: date(confirmedAt), refused, withheld };
}
