// `_sync` and `_matrix` on a replica that has no stream of a zone: another replica answers what the zone has.
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { FastifyInstance } from 'fastify';
import type { Answer } from '../../src/answers/answers.ts';
import { addPolicyInspect } from '../../src/inspect/add-inspect-routes.ts';
import type { DeliveriesElsewhere } from '../../src/inspect/explainer.ts';
import { noSyncStates } from '../../src/kds/sender/open-senders.ts';
import { globalSendRules } from '../../src/kds/protocol/rules.ts';
import { testApi } from '../api/test-api.ts';
import { TinyStore } from '../support/tiny-store.ts';

const since = new Date('2026-01-01T00:00:00.000Z');
const PAGE = '/meshes/default/meshtimeouts/_sync';
const PATH = '/meshes/default/meshtimeouts/slow/_sync';

let store: TinyStore;
let app: FastifyInstance | undefined;
let asked: string[][];

beforeEach(async () => {
  store = new TinyStore();
  asked = [];
  const create = async (type: string, mesh: string, name: string, spec: object): Promise<void> => {
    await store.write({ op: 'create', key: { type, mesh, name }, labels: {}, spec: spec as never });
  };
  await create('Mesh', '', 'default', {});
  await create('MeshTimeout', 'default', 'slow', { to: [{ targetRef: { kind: 'Mesh' }, default: { idleTimeout: '1s' } }] });
  for (const zone of ['east', 'west']) await create('Zone', '', zone, { enabled: true });
  const connected = { id: 'x', globalInstanceId: 'b', connectTime: since.toISOString(), status: { total: {} } };
  await create('ZoneInsight', '', 'east', { subscriptions: [connected] });
});
afterEach(async () => app?.close());

async function targets(elsewhere: DeliveriesElsewhere): Promise<unknown> {
  app = testApi(store, 'global', {
    addRoutes: addPolicyInspect(globalSendRules(), null, noSyncStates, undefined, async (rows, zones, signal) => {
      asked.push([rows.names.join(' '), ...zones]);
      return await elsewhere(rows, zones, signal);
    }),
  });
  return (await app.inject(PATH)).json<{ targets: unknown }>().targets;
}
const isSince = { state: 'acknowledged', reason: null, since } as const;

it('shows what another replica knows of a connected zone, and does not ask about the others', async () => {
  const found = await targets(async () => [new Map([['east', isSince]])]);
  expect(found).toMatchObject([
    { to: 'east', state: { kind: 'inSync', since: since.toISOString() } },
    { to: 'west', state: { kind: 'away' } },
  ]);
  expect(asked).toEqual([['slow', 'east']]);
});

it('names the replica that does not answer', async () => {
  expect(await targets(async () => [])).toMatchObject([{ to: 'east', state: { kind: 'unknown' } }, { to: 'west' }]);
});

it('asks once for a page of resources', async () => {
  const key = { type: 'MeshTimeout', mesh: 'default', name: 'other' };
  await store.write({ op: 'create', key, labels: {}, spec: {} });
  const refused = { state: 'refused', reason: 'unknown field', since: null } as const;
  await targets(async ({ names }) => names.map((name) => new Map([['east', name === 'slow' ? isSince : refused]])));
  asked = [];
  const page = (await app?.inject(PAGE))?.json<{ items: unknown }>();
  expect(asked).toEqual([['other slow', 'east']]);
  expect(page?.items).toMatchObject([
    { storedName: 'other', targets: [{ to: 'east', state: { kind: 'refused', reason: 'unknown field' } }, { to: 'west' }] },
    { storedName: 'slow', targets: [{ to: 'east', state: { kind: 'inSync' } }, { to: 'west' }] },
  ]);
});

it('asks once, without times, for the rows of a matrix', async () => {
  const key = { type: 'MeshTimeout', mesh: 'default', name: 'other' };
  await store.write({ op: 'create', key, labels: {}, spec: {} });
  const has = { state: 'acknowledged', reason: null, since: null } as const;
  const refused = { state: 'refused', reason: 'unknown field', since: null } as const;
  await targets(async ({ names, isBrief }) =>
    isBrief ? names.map((name) => new Map([['east', name === 'slow' ? has : refused]])) : [],
  );
  asked = [];
  const matrix = (await app?.inject('/meshes/default/meshtimeouts/_matrix'))?.json<{ zones: unknown; items: unknown }>();
  expect(asked).toEqual([['other slow', 'east']]);
  expect(matrix?.zones).toEqual(['east', 'west']);
  expect(matrix?.items).toMatchObject([
    { storedName: 'other', verdicts: [{ state: 'refused', why: 'unknown field' }, { state: 'away' }], runs: [0, 1, 1, 1] },
    { storedName: 'slow', verdicts: [{ state: 'inSync' }, { state: 'away' }], runs: [0, 1, 1, 1] },
  ]);
});

it('leaves the names of the zones out of a matrix for a caller that has them', async () => {
  await targets(async () => []);
  const ask = async (zonesVersion: string) => {
    const path = `/meshes/default/meshtimeouts/_matrix?zonesVersion=${zonesVersion}`;
    return (await app?.inject(path))?.json<Answer<'SyncMatrix'>>();
  };
  const first = await ask('');
  expect(first?.zones).toEqual(['east', 'west']);
  const version = first?.zonesVersion ?? '';
  const second = await ask(version);
  expect(second).toEqual({ total: 1, zonesVersion: version, items: first?.items, next: null });
  await store.write({ op: 'create', key: { type: 'Zone', mesh: '', name: 'north' }, labels: {}, spec: { enabled: true } });
  const third = await ask(version);
  expect(third?.zones).toEqual(['east', 'north', 'west']);
  expect(third?.zonesVersion).not.toBe(version);
});
