// The claims of each kind of token, and their parsers (rest-api 5). A token of one kind is never accepted as another, even if one key
// is stored under two names.
import type { Claims, Refused } from './jwt.ts';

export type UserClaims = { readonly name: string; readonly groups: readonly string[] };
export type ZoneClaims = { readonly zone: string; readonly scope: readonly string[] };
export type DataplaneClaims = {
  /** An empty text means any name. */
  readonly name: string;
  readonly mesh: string;
  readonly tags: Readonly<Record<string, readonly string[]>>;
  readonly type: string;
  readonly workload: string;
};

export type Read<T> = { readonly ok: true; readonly value: T } | Refused;

export function readUserClaims({ Name, Groups, Zone, Mesh }: Claims): Read<UserClaims> {
  const groups = textsOf(Groups);
  if (typeof Name !== 'string' || Name === '' || groups === null || Zone !== undefined || Mesh !== undefined)
    return notOf('user', 'Name and Groups');
  return { ok: true, value: { name: Name, groups } };
}

export function readZoneClaims({ Zone, Scope, Name, Mesh }: Claims): Read<ZoneClaims> {
  const scope = textsOf(Scope);
  if (typeof Zone !== 'string' || Zone === '' || scope === null || Name !== undefined || Mesh !== undefined)
    return notOf('zone', 'Zone and Scope');
  return { ok: true, value: { zone: Zone, scope } };
}

export function readDataplaneClaims({ Name = '', Mesh, Tags, Type = '', Workload = '', Zone }: Claims): Read<DataplaneClaims> {
  const tags = tagsOf(Tags);
  if (typeof Mesh !== 'string' || Mesh === '' || tags === null || Zone !== undefined) return notOf('dataplane', 'Mesh');
  if (typeof Name !== 'string' || typeof Type !== 'string' || typeof Workload !== 'string') return notOf('dataplane', 'Name');
  return { ok: true, value: { name: Name, mesh: Mesh, tags, type: Type, workload: Workload } };
}

function notOf(kind: string, claims: string): Refused {
  return { ok: false, reason: `is no ${kind} token: those have the claims ${claims}` };
}

/** A list of strings. Null and a missing value mean the empty list, as in Go. */
function textsOf(value: unknown): readonly string[] | null {
  if (value === null || value === undefined) return [];
  return Array.isArray(value) && value.every((one) => typeof one === 'string') ? value : null;
}

function tagsOf(value: unknown): Readonly<Record<string, readonly string[]>> | null {
  if (value === null || value === undefined) return {};
  if (typeof value !== 'object' || Array.isArray(value)) return null;
  const entries = Object.entries(value).map(([key, one]) => [key, textsOf(one)] as const);
  if (entries.some(([, texts]) => texts === null)) return null;
  return Object.fromEntries(entries.map(([key, texts]) => [key, texts ?? []]));
}
