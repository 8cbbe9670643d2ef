// A NACK that names its resources: `error_detail.details` carries one Any a resource, JSON in its value (engine 15).
// A Kuma peer ignores the details and reads the message.
import { cut } from '../base/violations.ts';
import { storablePart } from '../resource/storable-text.ts';

export type Refusal = { readonly type: string; readonly name: string; readonly mesh: string; readonly reason: string };

type Detail = { readonly typeUrl: string; readonly value: Uint8Array };

const TYPE_URL = 'meridian.io/kds.v1.Refusal';

/** Characters of a reason. */
const MAX_REASON = 1_000;

export function refusalOf(type: string, { name, mesh }: { name: string; mesh: string }, reason: string): Refusal {
  return { type, name, mesh, reason: storablePart(reason, MAX_REASON) };
}

/** Refusals that are named one by one; with more of them the NACK names none, and the peer suspects the whole response. */
export const MAX_NAMED = 1_000;
/** Refusals whose reason is given. */
const MAX_LINES = 100;
/** Characters of a name as a NACK repeats it: longer than any that a row can have. */
const MAX_NAME = 600;

/** All of them, the first with their reasons, or none: a list that lacks some would say that those were accepted. */
export function writeRefusals(refusals: readonly Refusal[]): Detail[] {
  if (refusals.length > MAX_NAMED) return [];
  return refusals.map(({ type, name, mesh, reason }, index) => {
    const detail = { type, name: cut(name, MAX_NAME), mesh: cut(mesh, MAX_NAME), reason: index < MAX_LINES ? reason : '' };
    return { typeUrl: TYPE_URL, value: Buffer.from(JSON.stringify(detail)) };
  });
}

/** The refusals a peer named; details of other kinds or that do not parse are passed over. */
export function readRefusals(details: readonly Detail[]): Refusal[] {
  return details.flatMap(({ typeUrl, value }) => {
    if (typeUrl !== TYPE_URL) return [];
    try {
      const read: unknown = JSON.parse(Buffer.from(value).toString('utf8'));
      return isRefusal(read) ? [read] : [];
    } catch {
      return [];
    }
  });
}

/** The text people and Kuma peers see: `user error`, then a line a resource (kds-wire 6.2). */
export function describeRefusals(refusals: readonly Refusal[]): string {
  const lines = refusals
    .slice(0, MAX_LINES)
    .map(
      ({ type, name, mesh, reason }) =>
        `${reason}: type=${JSON.stringify(type)} name=${JSON.stringify(cut(name, MAX_NAME))} mesh=${JSON.stringify(cut(mesh, MAX_NAME))}`,
    );
  if (refusals.length > MAX_LINES) lines.push(`and ${String(refusals.length - MAX_LINES)} more`);
  return ['user error', ...lines].join('\n');
}

function isRefusal(value: unknown): value is Refusal {
  if (typeof value !== 'object' || value === null) return false;
  const record = value as Record<string, unknown>;
  return ['type', 'name', 'mesh', 'reason'].every((key) => typeof record[key] === 'string');
}
