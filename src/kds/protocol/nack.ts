// The content of a NACK: `error_detail.details` carries one Any for each resource, JSON in its value (engine 15). A Kuma peer ignores
// the details and sends text alone, so this is the one file of the protocol that matches text.
import { cut } from '../../base/violations.ts';
import { objectOf } from '../../resource/read-json.ts';
import { storablePart } from '../../resource/storable-text.ts';

export type NackedResource = { readonly type: string; readonly name: string; readonly mesh: string; readonly reason: string };

type Detail = { readonly typeUrl: string; readonly value: Uint8Array };

const TYPE_URL = 'meridian.io/kds.v1.Refusal';

/**
 * The beginning of the text of a Kuma peer, and of a Meridian peer that refuses too many resources to name them (kds-wire 6.2.7).
 */
const USER_ERROR = 'user error';
/** The largest number of characters of a reason. */
const MAX_REASON = 1_000;

export function nackedResource(type: string, { name, mesh }: { name: string; mesh: string }, reason: string): NackedResource {
  return { type, name, mesh, reason: storablePart(reason, MAX_REASON) };
}

/** The number of resources that a NACK names. With more of them it names none, and the peer suspects the whole response. */
export const MAX_NAMED = 1_000;
/** The number of resources whose reason a NACK gives. */
const MAX_LINES = 100;
/** The reason of the other resources. */
const REASON_LEFT_OUT = 'the peer gave the reasons of other resources alone';
/** The largest number of characters of a name in a NACK. No row has a longer name. */
const MAX_NAME = 600;

/**
 * The details for all resources, the first ones with their reasons, or for none: an incomplete list would mean that the others
 * were accepted.
 */
export function writeNackDetails(resources: readonly NackedResource[]): Detail[] {
  if (resources.length > MAX_NAMED) return [];
  return resources.map(({ type, name, mesh, reason }, index) => {
    const detail = { type, name: cut(name, MAX_NAME), mesh: cut(mesh, MAX_NAME), reason: index < MAX_LINES ? reason : '' };
    return { typeUrl: TYPE_URL, value: Buffer.from(JSON.stringify(detail)) };
  });
}

/** The resources that a peer named. Details of other kinds, and those that do not parse, are ignored. */
export function readNackDetails(details: readonly Detail[]): NackedResource[] {
  return details.flatMap(({ typeUrl, value }) => {
    if (typeUrl !== TYPE_URL) return [];
    try {
      const read: unknown = JSON.parse(Buffer.from(value).toString('utf8'));
      return isNackedResource(read) ? [{ ...read, reason: read.reason || REASON_LEFT_OUT }] : [];
    } catch {
      return [];
    }
  });
}

/** The text for people and Kuma peers: `user error`, then a line for each resource (kds-wire 6.2). */
export function nackMessage(resources: readonly NackedResource[]): string {
  const lines = resources
    .slice(0, MAX_LINES)
    .map(
      ({ type, name, mesh, reason }) =>
        `${reason}: type=${JSON.stringify(type)} name=${JSON.stringify(cut(name, MAX_NAME))} mesh=${JSON.stringify(cut(mesh, MAX_NAME))}`,
    );
  if (resources.length > MAX_LINES) lines.push(`and ${String(resources.length - MAX_LINES)} more`);
  return [USER_ERROR, ...lines].join('\n');
}

function isNackedResource(value: unknown): value is NackedResource {
  const record = objectOf(value);
  return ['type', 'name', 'mesh', 'reason'].every((key) => typeof record[key] === 'string');
}

/** `user`: a person has to change a resource; `other`: anything else. */
export type NackFault = 'user' | 'other';

/**
 * @param named the resources that the details of the NACK name: only a Meridian peer names any
 * @param message the text of the NACK, for a peer that names none
 */
export function nackFaultOf(named: readonly NackedResource[], message: string): NackFault {
  return named.length > 0 || message.startsWith(USER_ERROR) ? 'user' : 'other';
}
