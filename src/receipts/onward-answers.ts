// The answers of global to a zone: which other zones have a resource of that zone.
// Invariant: a zone learns nothing of the resources of others.
import { MeridianError } from '../base/errors.ts';
import type { FollowRollout } from '../writes/await-zones.ts';
import { globalReceiveRules, type SendRules } from '../kds/protocol/rules.ts';
import type { AnswerZone } from '../kds/server/zone-questions.ts';
import { belongsToZone } from '../resource/ownership.ts';
import { isObject, textOf } from '../resource/read-json.ts';
import { findType } from '../resource/type-registry.ts';
import { describeKey, type ResourceKey } from '../resource/types.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import { exclusionOfRow } from './exclusion-reason.ts';
import { MAX_ASKED } from './onward-questions.ts';
import type { Change } from './kept-change.ts';
import type { Receipts } from './receipts.ts';
import { changeSummary, onwardNowhere, onwardOf, onwardSummary, type OnwardOfMany, type OnwardRollout } from './rollout.ts';

const MAX_QUESTION_BYTES = 32_000;
/** The limit of the wait, as for a request of a person. */
const MAX_WAIT_MS = 300_000;
/** The number of zones of an answer. */
const MAX_TARGETS = 1_000;

export type OnwardAnswersOptions = {
  readonly store: Pick<ResourceStore, 'getMeta' | 'getMany'>;
  readonly rules: SendRules;
  readonly receipts: Pick<Receipts, 'changes' | 'listTargets'>;
  readonly follow: FollowRollout;
};

/** Makes the function for the option `answerZone` of the KDS server. */
export function onwardAnswers({ store, rules, receipts, follow }: OnwardAnswersOptions): AnswerZone {
  return async ({ zone, hasHashedNames }, bytes, signal) => {
    const { waitMs, keys } = questionIn(bytes);
    const { storedName } = globalReceiveRules(zone, { hashedNames: hasHashedNames });
    const stored = keys.map((one) => ({ ...one, name: storedName(one.name) }));
    const [key] = stored;
    if (waitMs === null || key === undefined) return Buffer.from(JSON.stringify({ items: await ofMany(stored, zone, signal) }));
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

  async function ofMany(keys: readonly ResourceKey[], zone: string, signal: AbortSignal): Promise<OnwardOfMany[]> {
    const kept = keys.map((key) => receipts.changes.ofRow(key));
    const isOwn = ({ visibility }: Change): boolean => visibility.to === 'others' && visibility.zone === zone;
    const own = kept.filter((change) => change !== undefined && isOwn(change)) as Change[];
    const answered = new Map<Change, OnwardOfMany['onward']>();
    for await (const { change, targets, elsewhere } of receipts.listTargets(own, signal))
      answered.set(change, onwardSummary(changeSummary(change, targets, elsewhere)));
    const rest = await store.getMany(keys.filter((_, index) => kept[index] === undefined));
    const rows = new Map(rest.map((row) => [describeKey(row), row]));
    return keys.map((key, index) => {
      const change = kept[index];
      const row = rows.get(describeKey(key));
      const onward = change === undefined ? undefined : answered.get(change);
      if (onward !== undefined) return { onward };
      if (row === undefined || !belongsToZone(row, zone))
        return { onward: onwardNowhere(`global has no such resource of zone ${zone}`) };
      const note = exclusionOfRow(row, rules);
      return note === null ? { onwardNote: 'global no longer keeps the last change of it' } : { onward: onwardNowhere(note) };
    });
  }

  async function answerOf(key: ResourceKey, waitMs: number, signal: AbortSignal): Promise<OnwardRollout> {
    return onwardOf(await follow(key, { version: null, waitMs }, signal), MAX_TARGETS);
  }
}

function nothingOf(note: string): OnwardRollout {
  return { ...onwardNowhere(note), targets: [] };
}

/** @property waitMs null for a question about several resources, which does not wait */
type Read = { readonly waitMs: number | null; readonly keys: readonly ResourceKey[] };

/** Parses a question. @throws MeridianError `bad_request` */
function questionIn(bytes: Buffer): Read {
  const wrong = new MeridianError(
    'bad_request',
    `a question must be {"type", "mesh", "name", "waitMs"}, or {"resources"} with 1 to ${String(MAX_ASKED)} of {"type", "mesh", "name"}`,
  );
  if (bytes.length > MAX_QUESTION_BYTES) throw wrong;
  const read = parsed(bytes);
  if (!isObject(read)) throw wrong;
  const { waitMs, resources } = read;
  const isTime = typeof waitMs === 'number' && waitMs >= 0 && waitMs <= MAX_WAIT_MS;
  const given: readonly unknown[] = Array.isArray(resources) ? resources : isTime ? [read] : [];
  const keys = given.slice(0, MAX_ASKED + 1).flatMap((one) => keyIn(one) ?? []);
  if (keys.length === 0 || keys.length !== given.length || given.length > MAX_ASKED) throw wrong;
  return { waitMs: isTime && !Array.isArray(resources) ? waitMs : null, keys };
}

function keyIn(one: unknown): ResourceKey | null {
  const { type, mesh, name } = isObject(one) ? one : {};
  if (findType(textOf(type)) === undefined || typeof mesh !== 'string' || textOf(name) === '') return null;
  return { type: textOf(type), mesh, name: textOf(name) };
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return null;
  }
}
