// Whether a zone without a store id is connected now, as the replicas of global find it out together. A ZoneInsight cannot tell: an
// instance that was killed leaves its subscription open. The instance that keeps a subscription knows. So the one that must decide
// asks in the Config row of the zone, and an instance that lives answers there. Silence means that the instance has gone. Pure.
import { objectOf, textOf } from '../resource/read-json.ts';
import type { JsonObject } from '../resource/types.ts';
import { isOpen, subscriptionsOf } from '../resource/online-status.ts';

/** The time limit for the answer of a replica: its change feed and one write, under load. */
export const ANSWER_MS = 10_000;
/** The validity of an answer, or of silence; then the query is repeated. */
export const VERDICT_MS = 30_000;

/**
 * `live`: a stream of the zone is open on an instance that lives. `gone`: none is. `asked`: a question waits for its answer.
 * `unknown`: another instance has to be asked.
 */
export type Liveness = 'live' | 'gone' | 'asked' | 'unknown';

/**
 * The known state of a zone's streams.
 * @param insight spec of its ZoneInsight, empty where there is none
 * @param status of the row that holds the question
 * @param instanceId of the process that wants to know
 */
export function livenessOf(insight: JsonObject, status: JsonObject, instanceId: string, now: Date): Liveness {
  const open = openStreams(insight);
  if (open.length === 0) return 'gone';
  if (open.some(({ keeper }) => keeper === instanceId)) return 'live';
  const { streams, time, answered } = objectOf(status['asked']);
  const asked = new Set(Array.isArray(streams) ? streams : []);
  const age = now.getTime() - Date.parse(textOf(time));
  // A time in the future is of another clock; a stream that was opened after the question is not meant by it.
  if (!(age >= 0 && age < VERDICT_MS) || !open.every(({ id }) => asked.has(id))) return 'unknown';
  if (answered === true) return 'live';
  return age < ANSWER_MS ? 'asked' : 'gone';
}

/** The status with the question which of the open streams live. */
export function withQuestion(status: JsonObject, insight: JsonObject, now: Date): JsonObject {
  const streams = openStreams(insight).map(({ id }) => id);
  return { ...status, asked: { streams, time: now.toISOString() } };
}

/** True while the request in the status has no answer. */
export function isAsked(status: JsonObject): boolean {
  const { time, answered } = objectOf(status['asked']);
  return textOf(time) !== '' && answered !== true;
}

/** The status with the answer of this instance, or null where it holds none of the streams. */
export function withAnswer(status: JsonObject, insight: JsonObject, instanceId: string): JsonObject | null {
  if (!isAsked(status) || !openStreams(insight).some(({ keeper }) => keeper === instanceId)) return null;
  return { ...status, asked: { ...objectOf(status['asked']), answered: true } };
}

/** @property keeper the instance of global that a stream was opened to */
type OpenStream = { readonly id: string; readonly keeper: string };

function openStreams(insight: JsonObject): OpenStream[] {
  const rows = subscriptionsOf(insight).filter(isOpen);
  return rows.map((row) => ({ id: textOf(row['id']), keeper: textOf(row['globalInstanceId']) }));
}
