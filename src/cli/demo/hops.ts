// Measures the time of a change from one control plane to the next from outside: PUT on one, GET on the other.
import { isDeepStrictEqual } from 'node:util';
import { MeridianError } from '../../base/errors.ts';
import { hashName } from '../../resource/hash-name.ts';
import { typeOf } from '../../resource/type-registry.ts';
import type { JsonObject } from '../../resource/types.ts';
import { ApiClient, type Item } from '../client/api-client.ts';

const ROUNDS = 5;
const MESH = 'shop';

export type Hop = { readonly from: string; readonly to: string; readonly what: string; readonly medianMs: number };

/** Measures five changes for each hop, one after the other. Returns the medians in milliseconds. */
export async function measureHops(addresses: ReadonlyMap<string, string>): Promise<Hop[]> {
  const policy = (round: number): JsonObject => ({
    spec: {
      targetRef: { kind: 'Mesh' },
      to: [{ targetRef: { kind: 'Mesh' }, default: { http: { requestTimeout: `${String(round + 1)}s` } } }],
    },
  });
  const service = (round: number): JsonObject => ({
    labels: { 'kuma.io/origin': 'zone' },
    spec: { ports: [{ port: round + 1, appProtocol: 'tcp' }] },
  });
  const downwards = { type: 'MeshTimeout', from: 'global', name: 'hop', bodyOf: policy, zone: undefined };
  const upwards = { type: 'MeshService', from: 'east', name: 'hop', bodyOf: service, zone: 'east' };
  return [
    await measure(addresses, { ...downwards, to: 'east' }),
    await measure(addresses, { ...downwards, to: 'west' }),
    await measure(addresses, { ...upwards, to: 'global' }),
    await measure(addresses, { ...upwards, to: 'west' }),
  ];
}

type Probe = {
  type: string;
  from: string;
  to: string;
  name: string;
  bodyOf: (round: number) => JsonObject;
  zone: string | undefined;
};

async function measure(addresses: ReadonlyMap<string, string>, { type, from, to, name, bodyOf, zone }: Probe): Promise<Hop> {
  const info = typeOf(type);
  const source = new ApiClient(addresses.get(from) ?? '');
  const target = new ApiClient(addresses.get(to) ?? '');
  const copy = hashName({ mesh: MESH, name, zone });
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const body = bodyOf(round);
    await source.put(info, MESH, name, { type, mesh: MESH, name, ...body });
    const began = performance.now();
    await until(async () => isThere(await target.get(info, MESH, copy), body), `${type} ${copy} on ${to}`);
    times.push(performance.now() - began);
  }
  await source.delete(info, MESH, name);
  await until(async () => (await target.get(info, MESH, copy)) === undefined, `the removal of ${type} ${copy} on ${to}`);
  times.sort((a, b) => a - b);
  return { from, to, what: type, medianMs: times[Math.floor(ROUNDS / 2)] ?? NaN };
}

/** Whether an item has all written fields; a zone adds computed fields to the spec of its services. */
function isThere(item: Item | undefined, { spec }: JsonObject): boolean {
  const found = (item?.['spec'] ?? {}) as JsonObject;
  return Object.entries((spec ?? {}) as JsonObject).every(([key, value]) => isDeepStrictEqual(found[key], value));
}

async function until(isTrue: () => Promise<boolean>, what: string): Promise<void> {
  const deadline = Date.now() + 30_000;
  while (!(await isTrue()))
    if (Date.now() > deadline) throw new MeridianError('unavailable', `timed out after 30 s waiting for ${what}`);
}
