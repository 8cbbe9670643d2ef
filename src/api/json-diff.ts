// The difference between two JSON documents, as the operations of a JSON Patch (RFC 6902): add, remove, replace.
import type { Json, JsonObject } from '../resource/types.ts';
import type { Answer } from './answers.ts';
import { isObject } from '../resource/read-json.ts';

/** The largest number of listed changes. With more, the whole document is replaced. */
const MAX_CHANGES = 1_000;

type Change = Answer<'Change'>;

/** The operations that change `before` into `after`; empty when they are equal. Lists are compared by index. */
export function diffJson(before: Json, after: Json): Change[] {
  const changes = changesOf(before, after, '');
  return changes.length > MAX_CHANGES ? [{ op: 'replace', path: '', value: after }] : changes;
}

function changesOf(before: Json, after: Json, path: string): Change[] {
  if (Array.isArray(before) && Array.isArray(after)) return diffLists(before, after, path);
  if (isObject(before) && isObject(after)) return diffObjects(before, after, path);
  return before === after ? [] : [{ op: 'replace', path, value: after }];
}

function diffObjects(before: JsonObject, after: JsonObject, path: string): Change[] {
  const removed = Object.keys(before)
    .filter((key) => !Object.hasOwn(after, key))
    .map((key): Change => ({ op: 'remove', path: `${path}/${escape(key)}` }));
  const changed = Object.entries(after).flatMap(([key, value]): Change[] => {
    const at = `${path}/${escape(key)}`;
    const old = Object.hasOwn(before, key) ? before[key] : undefined;
    return old === undefined ? [{ op: 'add', path: at, value }] : changesOf(old, value, at);
  });
  return [...removed, ...changed];
}

/** Surplus items are removed from the end, so that the operations can be applied in order. */
function diffLists(before: readonly Json[], after: readonly Json[], path: string): Change[] {
  const changed = after.flatMap((value, index): Change[] => {
    const at = `${path}/${String(index)}`;
    const old = before[index];
    return old === undefined ? [{ op: 'add', path: `${path}/-`, value }] : changesOf(old, value, at);
  });
  const over = before.length - after.length;
  const removed = Array.from({ length: Math.max(0, over) }, (_, index): Change => {
    return { op: 'remove', path: `${path}/${String(before.length - 1 - index)}` };
  });
  return [...changed, ...removed];
}

function escape(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}
