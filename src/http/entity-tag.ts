// The ETag of a resource (D33): its version and the time of its creation. The time tells a resource from one that was deleted and created
// again, because the versions of the new one begin with 0 too.
import type { Resource } from '../resource/types.ts';

type Tagged = Pick<Resource, 'version' | 'creationTime'>;

/**
 * The version that an `If-Match` asks for.
 * @property created milliseconds since 1970; null for a version alone, which scripts may give
 */
export type EntityTag = { readonly version: number; readonly created: number | null };

export function etagOf({ version, creationTime }: Tagged): string {
  return `"${String(version)}-${creationTime.getTime().toString(36)}"`;
}

/** Reads `"3-mc0qd7xk"`, and `"3"`; weak and strong tags mean the same. Null for another text. */
export function parseEtag(text: string): EntityTag | null {
  const [, version, created] = /^(?:W\/)?"?(\d{1,10})(?:-(-?[0-9a-z]{1,11}))?"?$/.exec(text) ?? [];
  if (version === undefined) return null;
  return { version: Number(version), created: created === undefined ? null : Number.parseInt(created, 36) };
}

export function isTagOf({ version, created }: EntityTag, row: Pick<Tagged, 'version'> & Partial<Tagged>): boolean {
  return version === row.version && (created === null || created === row.creationTime?.getTime());
}

/** Whether `If-None-Match` names this ETag. Weak tags count: a proxy that compresses makes them (RFC 9110 13.1.2). */
export function namesTag(header: string | undefined, etag: string): boolean {
  return (header ?? '').split(',').some((one) => [etag, '*'].includes(one.trim().replace(/^W\//, '')));
}
