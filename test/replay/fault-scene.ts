// Support for tests of faults: handwritten frames, reopened streams, and the last message of a peer.
import { encodeKumaResource, wireVersion, type WireResource } from '../../src/resource/codec.ts';
import { typeOf } from '../../src/resource/type-registry.ts';
import type { Resource, ResourceKey } from '../../src/resource/types.ts';
import {
  decodeDeltaRequest,
  decodeDeltaResponse,
  encodeDeltaResponse,
  encodeResourceEntry,
  type DeltaRequest,
  type DeltaResponse,
} from '../../src/wire/kds-messages.ts';
import { historyOf, type History } from './history.ts';
import { requests, type Rpc, type Zone } from './recording.ts';
import type { ReplayedPlane } from './replayed-plane.ts';

/** The resources of a type that a peer gets on a reopened stream. */
export async function firstState(plane: ReplayedPlane, zone: Zone, rpc: Rpc, type: string): Promise<History> {
  const ask = requests.find(({ request, ...frame }) => frame.zone === zone && frame.rpc === rpc && request.typeUrl === type);
  if (ask === undefined) throw new Error(`the recording asks for no ${type}`);
  await plane.feed({ kind: 'open', line: 0, zone, rpc });
  await plane.feed(ask);
  return historyOf(plane.sentTo(zone));
}

/** A response as it comes from the wire. */
export function frameOf(type: string, resources: readonly WireResource[], removed: readonly string[] = []): DeltaResponse {
  const entries = resources.map((resource) => {
    const kumaResource = encodeKumaResource(typeOf(type), resource);
    return encodeResourceEntry({ name: `${resource.name}.${resource.mesh}`, version: wireVersion(kumaResource), kumaResource });
  });
  return decodeDeltaResponse(encodeDeltaResponse({ typeUrl: type, nonce: '99', controlPlane: 'by hand', entries, removed }));
}

/** The last message of our receiver on the stream of a zone. */
export function answerTo(plane: ReplayedPlane, zone: Zone): DeltaRequest {
  return decodeDeltaRequest(lastOf(plane.requests[zone]));
}

/** @throws Error when there is none */
export function lastOf<T>(items: readonly T[]): T {
  const last = items.at(-1);
  if (last === undefined) throw new Error('there is nothing');
  return last;
}

/** @throws Error when it is not stored */
export async function mustGet(plane: ReplayedPlane, key: ResourceKey): Promise<Resource> {
  const row = await plane.store.get(key);
  if (row === undefined) throw new Error(`no ${key.type} ${key.name} is stored`);
  return row;
}

export function zoneKey(name: Zone): ResourceKey {
  return { type: 'Zone', mesh: '', name };
}
