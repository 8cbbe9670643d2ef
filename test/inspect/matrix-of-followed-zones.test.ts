// `_matrix` while a stream of events follows the zones: it knows each Zone that was written before the question.
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { FastifyInstance } from 'fastify';
import type { Answer } from '../../src/answers/answers.ts';
import { ZoneEvents } from '../../src/events/zone-events.ts';
import { addPolicyInspect } from '../../src/inspect/add-inspect-routes.ts';
import { globalSendRules } from '../../src/kds/protocol/rules.ts';
import { testApi } from '../api/test-api.ts';
import { following } from '../support/following.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { TinyStore } from '../support/tiny-store.ts';

let store: TinyStore;
let clock: ManualClock;
let zones: ZoneEvents;
let app: FastifyInstance;
let stop: AbortController;

const putZone = async (name: string, meshes: string[]): Promise<void> => {
  await store.write({ op: 'put', key: { type: 'Zone', mesh: '', name }, labels: {}, spec: { enabled: true, meshes } });
};

beforeEach(async () => {
  store = new TinyStore();
  await store.write({ op: 'create', key: { type: 'Mesh', mesh: '', name: 'shop' }, labels: {}, spec: {} });
  await store.write({ op: 'create', key: { type: 'MeshTimeout', mesh: 'shop', name: 'slow' }, labels: {}, spec: {} });
  for (const zone of ['east', 'west']) await putZone(zone, ['shop']);
  clock = new ManualClock();
  stop = new AbortController();
  zones = new ZoneEvents({ store, lagOf: () => undefined, clock, log: following.log });
  app = testApi(store, 'global', {
    addRoutes: addPolicyInspect(globalSendRules(), null, undefined, undefined, undefined, zones),
  });
});
afterEach(async () => {
  stop.abort();
  await app.close();
});

/** Follows the zones. The clock stands still afterwards: what waits for more changes waits for ever. */
async function followZones(): Promise<void> {
  let isLoaded = false;
  void zones.run({ touch: () => undefined, loaded: () => (isLoaded = true) }, stop.signal);
  await clock.advance(1_000);
  await expect.poll(() => isLoaded && zones.followed()?.length).toBe(2);
}

/** Zone → whether it gets the resource. */
async function sentTo(): Promise<Record<string, boolean | undefined>> {
  const { zones: names = [], items } = (await app.inject('/meshes/shop/meshtimeouts/_matrix')).json<Answer<'SyncMatrix'>>();
  const { runs = [], verdicts = [] } = items[0] ?? {};
  const cells = runs.flatMap((verdict, at) =>
    at % 2 === 1 ? [] : Array.from({ length: runs[at + 1] ?? 0 }, () => verdicts[verdict]),
  );
  return Object.fromEntries(names.map((name, at) => [name, cells[at]?.isSent]));
}

it('a matrix knows at once that a zone has left or joined a mesh', async () => {
  await followZones();
  expect(await sentTo()).toEqual({ east: true, west: true });
  await putZone('east', ['other']);
  expect(await sentTo()).toEqual({ east: false, west: true });
  await putZone('east', ['other', 'shop']);
  expect(await sentTo()).toEqual({ east: true, west: true });
});

it('a matrix knows at once that there is a new zone', async () => {
  await followZones();
  await putZone('north', ['other']);
  expect(await sentTo()).toEqual({ east: true, north: false, west: true });
});

it('a matrix is answered from the store when nothing follows the zones any longer', async () => {
  await followZones();
  await putZone('east', ['other']);
  const asked = sentTo();
  stop.abort();
  expect(await asked).toEqual({ east: false, west: true });
  expect(await sentTo()).toEqual({ east: false, west: true });
});
