// Determines whether a zone without a store id is connected, across the replicas of global. A ZoneInsight cannot tell: a killed
// instance leaves its subscription open. Only the instance with the subscription knows. So the deciding instance writes a question
// into the Config row of the zone, and a running instance answers there. No answer means that the instance has ended. Pure.
import { objectOf, textOf } from '../resource/read-json.ts';
import type { JsonObject } from '../resource/types.ts';
import { isOpen, subscriptionsOf } from '../resource/online-status.ts';

/** The time limit for the answer of a replica: its change feed and one write, under load. */
export const ANSWER_MS = 10_000;
/** The validity of an answer, or of a missing one. Then the question is repeated. */
export const VERDICT_MS = 30_000;

/**
 * `live`: a running instance has an open stream of the zone. `gone`: none has. `asked`: a question waits for its answer. `unknown`:
 * another instance must be asked.
 */
type Liveness = 'live' | 'gone' | 'asked' | 'unknown';

/**
 * The known state of a zone's streams.
 * @param insight spec of its ZoneInsight, empty without one
 * @param status of the row that holds the question
 * @param instanceId of the asking process
 */
export function livenessOf(insight: JsonObject, status: JsonObject, instanceId: string, now: Date): Liveness {
  const open = openStreams(insight);
  if (open.length === 0) return 'gone';
  if (open.some(({ keeper }) => keeper === instanceId)) return 'live';
  const { streams, time, answered } = objectOf(status['asked']);
  const asked = new Set(Array.isArray(streams) ? streams : []);
  const age = now.getTime() - Date.parse(textOf(time));
  // A time in the future comes from another clock. A question does not cover streams that opened later.
  if (!(age >= 0 && age < VERDICT_MS) || !open.every(({ id }) => asked.has(id))) return 'unknown';
  if (answered === true) return 'live';
  return age < ANSWER_MS ? 'asked' : 'gone';
}

/** Adds the question which of the open streams still exist to the status. */
export function withQuestion(status: JsonObject, insight: JsonObject, now: Date): JsonObject {
  const streams = openStreams(insight).map(({ id }) => id);
  return { ...status, asked: { streams, time: now.toISOString() } };
}

/** Returns true while the question in the status has no answer. */
export function isAsked(status: JsonObject): boolean {
  const { time, answered } = objectOf(status['asked']);
  return textOf(time) !== '' && answered !== true;
}

/** The status with the answer of this instance; null if it has none of the streams. */
export function withAnswer(status: JsonObject, insight: JsonObject, instanceId: string): JsonObject | null {
  if (!isAsked(status) || !openStreams(insight).some(({ keeper }) => keeper === instanceId)) return null;
  return { ...status, asked: { ...objectOf(status['asked']), answered: true } };
}

/** @property keeper the instance of global with the stream */
type OpenStream = { readonly id: string; readonly keeper: string };

function openStreams(insight: JsonObject): OpenStream[] {
  const rows = subscriptionsOf(insight).filter(isOpen);
  return rows.map((row) => ({ id: textOf(row['id']), keeper: textOf(row['globalInstanceId']) }));
}
