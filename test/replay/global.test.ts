// Replaces the recorded global by a Meridian one with two recorded Kuma zones: it gets their bytes and must send what the recorded one
// sent. Invariant: the same states of each resource in the same order; the bytes differ only in nonces and order.
import { beforeAll, afterAll, describe, expect, it } from 'vitest';
import { label } from '../../src/resource/labels.ts';
import type { DeltaResponse } from '../../src/wire/kds-messages.ts';
import { answersAmong, recordedRequests, typesAsked } from './conversation.ts';
import { historyOf, type History } from './history.ts';
import { requests, resourcesOf, responseAt, responses, zones, type Zone } from './recording.ts';
import { ReplayedPlane } from './replayed-plane.ts';
import { startOf, type Row } from './start-state.ts';

/** Zone-1 says here that its MeshService has lost two labels. */
const LOSSY_LINE = 305;
const MESH_SERVICE = 'backend-d8466458x7574b7b.default';

const recordedTo = (zone: Zone): History =>
  historyOf(responses.filter((frame) => frame.from === 'global' && frame.zone === zone).map(({ response }) => response));

let plane: ReplayedPlane;
let behind: string[];
beforeAll(async () => {
  plane = await ReplayedPlane.start('global');
  await plane.play();
  behind = await plane.settle();
});
afterAll(() => plane.close());

describe('our global with the recorded zones', () => {
  it('sends every response, and one for every recorded acknowledgement', () => {
    expect(behind).toEqual([]);
    expect(plane.unexpected).toEqual([]);
  });

  it('sends zone-1 the same as the recorded global', () => {
    expect(historyOf(plane.sentTo('zone-1'))).toEqual(recordedTo('zone-1'));
  });

  it('sends zone-2 the same as the recorded global, and one intermediate state of zone-1', () => {
    const ours = structuredClone(historyOf(plane.sentTo('zone-2')));
    const recorded = recordedTo('zone-2');
    // The recorded global gathers changes for a second, in which zone-1 restored the labels; Meridian sends every state.
    const { MeshService: { [MESH_SERVICE]: states = [] } = {} } = ours;
    const [lossy] = resourcesOf(responseAt(LOSSY_LINE).response);
    expect(states).toHaveLength(4);
    expect(states[1]).toMatchObject({ labels: { ...lossy?.labels, [label.origin]: 'global' }, spec: lossy?.spec });
    const { MeshService: { [MESH_SERVICE]: all = [], ...others } = {}, ...types } = ours;
    expect({ ...types, MeshService: { ...others, [MESH_SERVICE]: all.toSpliced(1, 1) } }).toEqual(recorded);
  });

  it.each(zones)('sends %s the full state of each type in one response, because a Kuma zone prunes by it', (zone) => {
    const recorded = responses.filter((frame) => frame.from === 'global' && frame.zone === zone);
    expect(firstNames(plane.sentTo(zone))).toEqual(firstNames(recorded.map(({ response }) => response)));
  });

  it.each(zones)('requests from %s the types of the recorded global', (zone) => {
    const asked = typesAsked(plane.requests[zone]);
    const recorded = typesAsked(recordedRequests('global', zone));
    // Left out of the recording (test/wire/vectors/README.md).
    expect([...asked].filter((type) => !recorded.has(type)).sort()).toEqual(['DataplaneInsight', 'MeshAccessLog']);
    expect([...recorded].filter((type) => !asked.has(type))).toEqual([]);
  });

  it.each(zones)('acknowledges to %s with the recorded bytes, and refuses nothing', (zone) => {
    expect(answersAmong(plane.requests[zone])).toEqual(answersAmong(recordedRequests('global', zone)));
  });

  it('has its own rows and the last rows of the zones, each under its own zone', async () => {
    const { rows } = plane.store;
    const own = startOf('global').filter(({ type, name }) => !(type === 'MeshRetry' && name === 'r1'));
    for (const { type, mesh, name, labels } of own) expect(await plane.store.get({ type, mesh, name })).toMatchObject({ labels });
    const expected = new Map<string, unknown>();
    for (const { zone, from, response } of responses) {
      if (from !== 'zone') continue;
      for (const { wireName, labels, spec, status, version } of resourcesOf(response))
        expected.set(`${response.typeUrl}/${wireName}`, {
          ...{ labels, spec, status: status ?? {}, syncVersion: version },
          owner: { type: 'Zone', mesh: '', name: zone },
        });
      for (const wireName of response.removedResources) expected.delete(`${response.typeUrl}/${wireName}`);
    }
    const copies = [...rows.values()].filter(({ syncVersion }) => syncVersion !== null);
    expect(
      new Map(
        copies.map(({ type, name, mesh, labels, spec, status, syncVersion, owner }) => [
          `${type}/${name}.${mesh}`,
          { labels, spec, status, syncVersion, owner },
        ]),
      ),
    ).toEqual(expected);
    expect(rows.size).toBe(own.length + expected.size + zones.length);
  });
});

it('does not send the resources of the recorded global with kds-sync disabled', async () => {
  const labels = { [label.displayName]: 'local', [label.mesh]: 'default', [label.origin]: 'global', [label.kdsSync]: 'disabled' };
  const local: Row = { type: 'MeshTimeout', mesh: 'default', name: 'local', labels, spec: { targetRef: { kind: 'Mesh' } } };
  const withLocal = await ReplayedPlane.start('global', [local]);
  try {
    await withLocal.play();
    await withLocal.settle();
    for (const zone of zones) expect(historyOf(withLocal.sentTo(zone))).toEqual(historyOf(plane.sentTo(zone)));
  } finally {
    await withLocal.close();
  }
});

it('the recorded peers are not Meridian', () => {
  for (const { request } of requests)
    if (request.node.metadata !== undefined) expect(Buffer.from(request.node.metadata).toString()).not.toContain('meridian');
});

/** Type → names in the first response of it. */
function firstNames(sent: readonly DeltaResponse[]): Record<string, string[]> {
  const firsts = sent.map(({ typeUrl, resources }) => [typeUrl, resources.map(({ name }) => name).sort()] as const);
  return Object.fromEntries(firsts.reverse());
}
