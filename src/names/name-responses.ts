// The responses with names, as bytes. Launchers with equal reach get the same change, which is encoded once.
import { perObject } from '../base/per-object.ts';
import { encodeDeltaResponse, encodeNonce, encodeResourceEntry } from '../wire/kds-messages.ts';
import { encodeName, NAME_TYPE_URL } from '../wire/name-messages.ts';
import type { Name, NameChanges } from '../xds/name-table.ts';
import { nameVersion } from './name-session.ts';

/** Bytes of the names of one response: a large table goes in several. */
const MAX_BYTES = 512 * 1024;

/**
 * The messages of a change, each in parts: a DeltaDiscoveryResponse, and its nonce. At least one.
 * @param nonceOf the nonce of the next message
 */
export function nameResponses(changes: NameChanges, nonceOf: () => string): (readonly Buffer[])[] {
  return bodiesOf(changes).map((body) => [body, encodeNonce(nonceOf())]);
}

const bodiesOf = perObject(({ put, removed }: NameChanges): readonly Buffer[] => {
  const groups: Buffer[][] = [[]];
  let bytes = 0;
  for (const entry of put.map(entryOf)) {
    if (bytes > 0 && bytes + entry.length > MAX_BYTES) {
      groups.push([]);
      bytes = 0;
    }
    groups.at(-1)?.push(entry);
    bytes += entry.length;
  }
  return groups.map((entries, at) =>
    encodeDeltaResponse({ typeUrl: NAME_TYPE_URL, nonce: '', controlPlane: '', removed: at === 0 ? removed : [], entries }),
  );
});

function entryOf(name: Name): Buffer {
  return encodeResourceEntry({
    ...{ name: name.hostname, version: nameVersion(name), typeUrl: NAME_TYPE_URL },
    kumaResource: encodeName(name),
  });
}
