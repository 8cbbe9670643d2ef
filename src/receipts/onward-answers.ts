// Global answers a zone where a resource of that zone is in the other zones.
// Invariant: a zone learns nothing of the resources of others.
import { MeridianError } from '../base/errors.ts';
import type { FollowRollout } from '../api/await-zones.ts';
import { globalReceiveRules } from '../kds/rules.ts';
import type { AnswerZone } from '../kds/zone-questions.ts';
import { belongsToZone } from '../resource/ownership.ts';
import { isObject, textOf } from '../resource/read-json.ts';
import { findType } from '../resource/type-registry.ts';
import type { ResourceKey } from '../resource/types.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import type { OnwardQuestion } from './onward-questions.ts';
import type { Receipts } from './receipts.ts';
import { onwardOf, type OnwardRollout } from './rollout.ts';

const MAX_QUESTION_BYTES = 10_000;
/** As for a request of a person. */
const MAX_WAIT_MS = 300_000;
/** Zones of an answer. */
const MAX_TARGETS = 1_000;

export type OnwardAnswersOptions = {
  readonly store: Pick<ResourceStore, 'getMeta'>;
  readonly receipts: Pick<Receipts, 'changes'>;
  readonly follow: FollowRollout;
};

/** For the option `answerZone` of the KDS server. */
export function onwardAnswers({ store, receipts, follow }: OnwardAnswersOptions): AnswerZone {
  return async ({ zone, hasHashedNames }, bytes, signal) => {
    const { waitMs, name, ...rest } = questionIn(bytes);
    const { storedName } = globalReceiveRules(zone, { hashedNames: hasHashedNames });
    const key = { ...rest, name: storedName(name) };
    const isOwn = await isOfZone(key, zone);
    const answer = isOwn ? await answerOf(key, waitMs, signal) : nothingOf(`global has no such resource of zone ${zone}`);
    return Buffer.from(JSON.stringify(answer));
  };

  async function isOfZone(key: ResourceKey, zone: string): Promise<boolean> {
    const row = await store.getMeta(key);
    if (row !== undefined) return belongsToZone(row, zone);
    // A removal is known as long as its change is kept.
    const visibility = receipts.changes.ofRow(key)?.visibility;
    return visibility?.to === 'others' && visibility.zone === zone;
  }

  async function answerOf(key: ResourceKey, waitMs: number, signal: AbortSignal): Promise<OnwardRollout> {
    return onwardOf(await follow(key, { version: null, waitMs }, signal), MAX_TARGETS);
  }
}

function nothingOf(note: string): OnwardRollout {
  const counts = { acknowledged: 0, refused: 0, withheld: 0, sent: 0, pending: 0, away: 0, unknown: 0, hidden: 0 };
  return { note, outcome: 'everywhere', counts, targets: [] };
}

/** @throws MeridianError `bad_request` */
function questionIn(bytes: Buffer): OnwardQuestion {
  const wrong = new MeridianError('bad_request', 'a question must be {"type", "mesh", "name", "waitMs"} in at most 10,000 bytes');
  if (bytes.length > MAX_QUESTION_BYTES) throw wrong;
  const read = parsed(bytes);
  const { type, mesh, name, waitMs } = isObject(read) ? read : {};
  const isTime = typeof waitMs === 'number' && waitMs >= 0 && waitMs <= MAX_WAIT_MS;
  if (findType(textOf(type)) === undefined || typeof mesh !== 'string' || textOf(name) === '' || !isTime) throw wrong;
  return { type: textOf(type), mesh, name: textOf(name), waitMs };
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return null;
  }
}
