// A NACK that names its resources: `error_detail.details` carries one Any a resource, JSON in its value (engine 15).
// A Kuma peer ignores the details and reads the message.

export type Refusal = { readonly type: string; readonly name: string; readonly mesh: string; readonly reason: string };

type Detail = { readonly typeUrl: string; readonly value: Uint8Array };

const TYPE_URL = 'meridian.io/kds.v1.Refusal';

export function refusalOf(type: string, { name, mesh }: { name: string; mesh: string }, reason: string): Refusal {
  return { type, name, mesh, reason };
}

export function writeRefusals(refusals: readonly Refusal[]): Detail[] {
  return refusals.map((refusal) => ({ typeUrl: TYPE_URL, value: Buffer.from(JSON.stringify(refusal)) }));
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
  const lines = refusals.map(
    ({ type, name, mesh, reason }) =>
      `${reason}: type=${JSON.stringify(type)} name=${JSON.stringify(name)} mesh=${JSON.stringify(mesh)}`,
  );
  return ['user error', ...lines].join('\n');
}

function isRefusal(value: unknown): value is Refusal {
  if (typeof value !== 'object' || value === null) return false;
  const record = value as Record<string, unknown>;
  return ['type', 'name', 'mesh', 'reason'].every((key) => typeof record[key] === 'string');
}
