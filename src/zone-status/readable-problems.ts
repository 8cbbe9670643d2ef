// The sync problems of a zone for a caller who may not read every type: the names of such resources, and the messages of a peer
// about them, are left out. Pure.
import { objectsOf, textOf } from '../resource/read-json.ts';
import type { JsonObject } from '../resource/types.ts';

/** The text in place of the message of a problem. */
export const UNREADABLE = 'names and reason are only for callers who may read the type';

/**
 * @param status the status of a ZoneInsight
 * @param mayRead whether the caller may read a type
 * @returns the same status with `syncProblems` that the caller may read
 */
export function readableProblems(status: JsonObject, mayRead: (type: string) => boolean): JsonObject {
  const { syncProblems } = status;
  if (syncProblems === undefined) return status;
  const readable = objectsOf(syncProblems).map((one) =>
    mayRead(textOf(one['type'])) ? one : { ...one, resources: [], message: UNREADABLE },
  );
  return { ...status, syncProblems: readable };
}
