// Replaces each recorded zone by a Meridian one with the recorded Kuma global: it gets that global's bytes, must send what the recorded
// zone sent, and must store what it gets. Invariant: the same states of each resource in the same order.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { label } from '../../src/resource/labels.ts';
import { answersAmong, recordedRequests, typesAsked } from './conversation.ts';
import { historyOf, type History } from './history.ts';
import { lossesIn } from './lost-labels.ts';
import { resourcesOf, responses, senderOf, zones, type Frame, type Zone } from './recording.ts';
import { ReplayedPlane } from './replayed-plane.ts';
import { startOf, stepsOf } from './start-state.ts';

/** The answer to the frame in which zone-1 gave back the labels that it had lost; ours never lost them. */
const ANSWER_TO_REPAIR = 310;

describe.each(zones)('our %s with a recorded global', (zone) => {
  let plane: ReplayedPlane;
  let behind: string[];
  const stored: { line: number; count: number }[] = [];
  beforeAll(async () => {
    plane = await ReplayedPlane.start(zone);
    await plane.play({}, async (frame) => {
      const count = await expectStored(plane, frame);
      if (count > 0) stored.push({ line: frame.line, count });
    });
    behind = await plane.settle();
  });
  afterAll(() => plane.close());

  it('sends the same as the recorded zone, except for labels that a status update must not lose', () => {
    expect(historyOf(plane.sentTo(zone))).toEqual(recordedFrom(zone));
    expect(behind).toEqual([]);
    expect(plane.unexpected).toEqual(zone === 'zone-1' ? [ANSWER_TO_REPAIR] : []);
  });

  it('requests the types of the recorded zone', () => {
    const asked = typesAsked(plane.requests[zone]);
    const recorded = typesAsked(recordedRequests(zone, zone));
    // Left out of the recording (test/wire/vectors/README.md).
    const left = ['Config', 'GlobalSecret', 'MeshAccessLog', 'Secret'];
    expect([...asked].filter((type) => !recorded.has(type)).sort()).toEqual(left);
    expect([...recorded].filter((type) => !asked.has(type))).toEqual([]);
  });

  it('acknowledges with the recorded bytes, and refuses nothing', () => {
    expect(answersAmong(plane.requests[zone])).toEqual(answersAmong(recordedRequests(zone, zone)));
  });

  it('stores each response unchanged', () => {
    const recorded = responses.filter((frame) => frame.from === 'global' && frame.zone === zone);
    const counts = recorded.map(({ line, response }) => ({
      line,
      count: response.resources.length + response.removedResources.length,
    }));
    expect(stored).toEqual(counts.filter(({ count }) => count > 0));
  });

  it('has its own rows as written, and the last state of global for the others', () => {
    const own = new Map(startOf(zone).map((row) => [keyOf(row), row.labels]));
    for (const { put, delete: gone } of stepsOf(zone)) {
      if (put?.labels !== undefined) own.set(keyOf(put), put.labels);
      if (gone !== undefined) own.delete(keyOf(gone));
    }
    const copies = new Map<string, unknown>();
    for (const { from, zone: to, response } of responses) {
      if (from !== 'global' || to !== zone) continue;
      for (const { info, wireName, labels } of resourcesOf(response)) copies.set(`${info.name}/${wireName}`, labels);
      for (const wireName of response.removedResources) copies.delete(`${response.typeUrl}/${wireName}`);
    }
    const rows = new Map([...plane.store.rows.values()].map((row) => [keyOf(row), row.labels]));
    expect(rows).toEqual(new Map<string, unknown>([...own, ...copies]));
  });
});

/** The messages of the recorded zone, without the frames with lost labels. */
function recordedFrom(zone: Zone): History {
  const stream = responses.filter((frame) => senderOf(frame) === zone);
  const lossy = new Set(lossesIn(stream).map(({ line }) => line));
  return historyOf(stream.filter(({ line }) => !lossy.has(line)).map(({ response }) => response));
}

/** Looks up everything that a frame named. @returns how many rows those are */
async function expectStored(plane: ReplayedPlane, frame: Frame): Promise<number> {
  if (frame.kind !== 'response') return 0;
  const { typeUrl: type, removedResources } = frame.response;
  const sent = resourcesOf(frame.response);
  for (const { mesh, name, labels, spec, version } of sent) {
    const row = await plane.store.get({ type, mesh, name });
    expect(row, `line ${String(frame.line)}`).toMatchObject({ spec, syncVersion: version, owner: null });
    expect(row?.labels).toEqual({ ...labels, [label.origin]: 'global' });
  }
  for (const wireName of removedResources) {
    const dot = wireName.lastIndexOf('.');
    const key = { type, name: wireName.slice(0, dot), mesh: wireName.slice(dot + 1) };
    expect(await plane.store.get(key), `line ${String(frame.line)}`).toBeUndefined();
  }
  return sent.length + removedResources.length;
}

function keyOf({ type, mesh, name }: { type: string; mesh: string; name: string }): string {
  return `${type}/${name}.${mesh}`;
}
