// `If-Match` and `ETag`: the version of a resource as HTTP has it (D33). Weak and strong tags mean the same here.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Resource } from '../resource/types.ts';
import { badQuery } from './error-body.ts';
import { conflict } from './write-plan.ts';
import type { ResourceKey } from '../resource/types.ts';

/** The versions a caller takes; `any` wants that the resource exists; null wants nothing. */
export type Precondition = readonly number[] | 'any' | null;

/** @throws ApiError 400 when the header is no list of versions */
export function preconditionOf(request: FastifyRequest): Precondition {
  const header = request.headers['if-match']?.trim();
  if (header === undefined) return null;
  if (header === '*') return 'any';
  return header.split(',').map((tag) => {
    const version = /^(?:W\/)?"?(\d{1,10})"?$/.exec(tag.trim())?.[1];
    if (version === undefined) throw badQuery('If-Match', 'must be the ETag of an earlier answer, such as "3"');
    return Number(version);
  });
}

/** @throws ApiError 409 when the stored row is not the version that the caller has read */
export function requireMatch(key: ResourceKey, stored: Pick<Resource, 'version'> | undefined, wanted: Precondition): void {
  if (wanted === null) return;
  if (stored === undefined) throw conflict(key, 'If-Match is given and the resource does not exist');
  if (wanted === 'any' || wanted.includes(stored.version)) return;
  throw conflict(key, `its version is ${String(stored.version)}, not the one of If-Match; read it again`);
}

export function setVersion(reply: FastifyReply, version: number): void {
  reply.header('etag', `"${String(version)}"`);
}
