// `_rollout` of a resource, `?wait=zones` of a write and `/_changes`, with one zone whose events the test makes.
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ReplicaQuestions } from '../../src/replicas/replica-questions.ts';
import { createLogger } from '../../src/base/log.ts';
import { Changelog } from '../../src/kds/log/changelog.ts';
import { globalSendRules, zoneSendRules } from '../../src/kds/protocol/rules.ts';
import { addReceiptRoutes, followNothing, rolloutFollower, type OnwardFollower } from '../../src/receipts/receipt-routes.ts';
import { Receipts } from '../../src/receipts/receipts.ts';
import type { Labels } from '../../src/resource/types.ts';
import { defaultAccess } from '../../src/http/access.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { testApi } from '../api/test-api.ts';
import { ANY_ZONE } from '../../src/resource/zone-profile.ts';

const log = createLogger('silent');
const TIMEOUTS = '/meshes/default/meshtimeouts';
let stop: AbortController;
let store: TinyStore;
let changelog: Changelog;
let receipts: Receipts;
let end: () => void;
let app: FastifyInstance;

beforeEach(async () => {
  stop = new AbortController();
  const clock = new ManualClock();
  store = new TinyStore(() => clock.now()).withZones('east');
  await store.write({ op: 'create', key: { type: 'Mesh', mesh: '', name: 'default' }, labels: {}, spec: {} });
  const rules = globalSendRules();
  changelog = new Changelog(store, rules, log);
  void changelog.run(stop.signal);
  await changelog.ready;
  const questions = new ReplicaQuestions({ store, instanceId: 'cp-1', clock, log });
  receipts = new Receipts({ mode: 'global', store, questions, instanceId: 'cp-1', clock });
  void questions.run(stop.signal);
  end = receipts.serve(changelog, { names: () => ['east'], profileOf: () => ANY_ZONE });
  const followRollout = rolloutFollower(receipts, rules, store);
  app = testApi(store, 'global', {
    followRollout,
    addRoutes: (routes, context) => addReceiptRoutes(routes, context, receipts, followRollout),
  });
});
afterEach(async () => {
  stop.abort();
  await app.close();
});

async function put(name: string, labels: Labels = {}): Promise<void> {
  await store.write({ op: 'put', key: { type: 'MeshTimeout', mesh: 'default', name }, labels, spec: {} });
  await changelog.caughtUp();
}
async function get(url: string, remoteAddress = '127.0.0.1'): Promise<{ status: number; answer: Record<string, unknown> }> {
  const { statusCode, body } = await app.inject({ method: 'GET', url, remoteAddress });
  return { status: statusCode, answer: JSON.parse(body) as Record<string, unknown> };
}

describe('GET _rollout', () => {
  it('says where the newest change is, by each path of the type, and for a type without a mesh', async () => {
    await put('slow');
    const expected = { type: 'MeshTimeout', mesh: 'default', name: 'slow', version: 0, outcome: 'away' };
    expect((await get(`${TIMEOUTS}/slow/_rollout`)).answer).toMatchObject({
      ...{ ...expected, targets: [{ to: 'east', state: 'away' }] },
    });
    expect((await get('/meshes/default/_rollout')).answer).toMatchObject({ type: 'Mesh', name: 'default' });
  });

  it('says why a resource goes to no zone', async () => {
    await put('local', { 'kuma.io/kds-sync': 'disabled' });
    expect((await get(`${TIMEOUTS}/local/_rollout`)).answer).toMatchObject({
      ...{ outcome: 'everywhere', targets: [], note: 'label kuma.io/kds-sync is disabled' },
    });
    await store.write({ op: 'create', key: { type: 'ZoneInsight', mesh: '', name: 'east' }, labels: {}, spec: {} });
    expect((await get('/zone-insights/east/_rollout')).answer).toMatchObject({ note: 'the type ZoneInsight is not synced' });
  });

  it('is 404 for a resource that does not exist and of which no removal is kept', async () => {
    expect(await get(`${TIMEOUTS}/none/_rollout`)).toMatchObject({
      status: 404,
      answer: { detail: expect.stringContaining('the last 1000 changes since the start of this process are kept') as unknown },
    });
    await put('slow');
    await store.write({ op: 'delete', key: { type: 'MeshTimeout', mesh: 'default', name: 'slow' } });
    expect((await get(`${TIMEOUTS}/slow/_rollout`)).answer).toMatchObject({ version: null, isRemoval: true });
  });

  it('asks for the change with at least a version', async () => {
    await put('slow');
    await put('slow', { team: 'shop' });
    const versions = await Promise.all(
      [0, 1].map(async (version) => (await get(`${TIMEOUTS}/slow/_rollout?version=${String(version)}`)).answer['version']),
    );
    expect(versions).toEqual([0, 1]);
  });

  it.each(['version=-1', 'version=1.5', 'version=soon', 'version=12345678901', 'wait=now'])('refuses %s', async (query) => {
    await put('slow');
    expect((await get(`${TIMEOUTS}/slow/_rollout?${query}`)).status).toBe(400);
  });
});

describe('GET /_changes', () => {
  it('does not ask for a second hop on global', async () => {
    await put('a');
    expect((await get('/_changes/_onward?ids=1')).answer).toEqual({ items: [] });
  });

  const idsOf = (answer: Record<string, unknown>): number[] => (answer['items'] as { id: number }[]).map(({ id }) => id);

  it('has pages, the newest first, and names the next', async () => {
    for (const name of ['a', 'b', 'c']) await put(name);
    const first = (await get('/_changes?size=2')).answer;
    expect([idsOf(first), first['next']]).toEqual([[3, 2], 2]);
    const second = (await get('/_changes?size=2&before=2')).answer;
    expect([idsOf(second), second['next']]).toEqual([[1], null]);
    const whole = (await get('/_changes?size=3')).answer;
    expect([idsOf(whole), whole['next']]).toEqual([[3, 2, 1], null]);
  });

  it('has no change of a type that the caller may not read, and a page is full without them', async () => {
    await put('a');
    await store.write({ op: 'create', key: { type: 'Secret', mesh: 'default', name: 's' }, labels: {}, spec: { data: 'eA==' } });
    await changelog.caughtUp();
    const secret = receipts.changes.newest()[0]?.id ?? 0;
    expect(secret).toBe(2);
    expect(idsOf((await get('/_changes')).answer)).toEqual([2, 1]);
    expect(idsOf((await get('/_changes?size=1', '10.0.0.1')).answer)).toEqual([1]);
    expect((await get(`/_changes/${String(secret)}`)).status).toBe(200);
    expect((await get(`/_changes/${String(secret)}`, '10.0.0.1')).status).toBe(403);
    expect((await get('/meshes/default/secrets/s/_rollout', '10.0.0.1')).status).toBe(403);
    expect(defaultAccess.adminResources.users).not.toContain('mesh-system:anonymous');
  });

  it('shows one change with its zones, and says which are kept for another number', async () => {
    expect(await get('/_changes/1')).toMatchObject({
      ...{ status: 404, answer: { detail: 'Not found: change 1: none is kept yet' } },
    });
    for (const name of ['a', 'b']) await put(name);
    expect((await get('/_changes/1')).answer).toMatchObject({
      ...{ change: 1, type: 'MeshTimeout', mesh: 'default', name: 'a', targets: [{ to: 'east', state: 'away' }] },
    });
    for (const id of ['3', 'x'])
      expect(await get(`/_changes/${id}`)).toMatchObject({
        ...{ status: 404, answer: { detail: `Not found: change ${id}: kept are 1 to 2; GET /_changes lists them` } },
      });
  });

  it.each(['/_changes', '/_changes/1'])('%s is 503 on a replica that sends no changes', async (url) => {
    await put('a');
    end();
    expect((await get(url)).status).toBe(503);
  });
});

describe('a zone without a global', () => {
  beforeEach(async () => {
    await app.close();
    const instanceId = 'cp-3';
    const clock = new ManualClock();
    const questions = new ReplicaQuestions({ store, instanceId, clock, log });
    const none = new Receipts({ mode: 'zone', store, questions, instanceId, clock });
    app = testApi(store, 'alone', {
      followRollout: followNothing,
      addRoutes: (routes, context) => addReceiptRoutes(routes, context, none, followNothing),
    });
  });
  const nowhere = { note: 'this zone has no global', outcome: 'everywhere', targets: [] };

  it('has no changes, because it sends none', async () => {
    expect(await get('/_changes')).toEqual({ status: 200, answer: { items: [], next: null, note: nowhere.note } });
    const { status, answer } = await get('/_changes/1');
    expect([status, answer['detail']]).toEqual([404, 'Not found: change 1: this zone has no global']);
  });

  it('answers _rollout and does not wait', async () => {
    await put('own');
    const { status, answer } = await get(`${TIMEOUTS}/own/_rollout?wait=zones`);
    expect([status, answer]).toMatchObject([200, { type: 'MeshTimeout', mesh: 'default', name: 'own', ...nowhere }]);
    expect((await get(`${TIMEOUTS}/none/_rollout`)).status).toBe(404);
  });

  it('answers a write and a removal with ?wait=zones, without a warning', async () => {
    const url = `${TIMEOUTS}/own?wait=zones`;
    const spec = { targetRef: { kind: 'Mesh' }, to: [{ targetRef: { kind: 'Mesh' }, default: { idleTimeout: '7s' } }] };
    const payload = { type: 'MeshTimeout', mesh: 'default', name: 'own', spec };
    for (const request of [{ method: 'PUT', payload } as const, { method: 'DELETE' } as const]) {
      const answer = (await app.inject({ url, ...request })).json<Record<string, unknown>>();
      expect([answer['rollout'], answer['warnings']]).toMatchObject([nowhere, undefined]);
    }
  });
});

describe('GET /_changes/{id} in a zone', () => {
  const COUNTS = { acknowledged: 1, refused: 0, withheld: 0, sent: 0, pending: 0, away: 0, unknown: 0, hidden: 0 };
  let asked: string[];

  beforeEach(async () => {
    asked = [];
    const clock = new ManualClock();
    const rules = zoneSendRules({ zone: 'east' });
    changelog = new Changelog(store, rules, log);
    void changelog.run(stop.signal);
    await changelog.ready;
    const questions = new ReplicaQuestions({ store, instanceId: 'cp-2', clock, log });
    receipts = new Receipts({ mode: 'zone', store, questions, instanceId: 'cp-2', clock });
    receipts.serve(changelog, { names: () => ['global'], profileOf: () => ANY_ZONE });
    const onward: OnwardFollower = {
      clock,
      of: async ({ name }) => {
        asked.push(name);
        return { onward: { outcome: 'waiting', counts: COUNTS, targets: [{ to: 'west', state: 'sent', sentMs: 3 }] } };
      },
      ofMany: async (keys) => {
        asked.push(keys.map(({ name }) => name).join(' '));
        return keys.map(() => ({ onward: { outcome: 'waiting', counts: COUNTS } }));
      },
    };
    const follow = rolloutFollower(receipts, rules, store, onward);
    await app.close();
    app = testApi(store, 'zone', {
      addRoutes: (routes, context) => addReceiptRoutes(routes, context, receipts, follow, onward),
    });
  });

  function onGlobal(name: string): void {
    const about = { peer: 'east', streamId: 'one' };
    const position = changelog.slotOf({ type: 'MeshTimeout', mesh: 'default', name })?.position ?? 0;
    receipts.observe({ kind: 'opened', ...about, stream: 'zoneToGlobal', authorized: true });
    receipts.observe({ kind: 'acknowledged', ...about, type: 'MeshTimeout', position, seconds: 0 });
  }

  it('has the way to the other zones once global has the change', async () => {
    await put('own');
    expect((await get('/_changes/1')).answer).not.toHaveProperty('onward');
    expect(asked).toEqual([]);
    onGlobal('own');
    expect((await get('/_changes/1')).answer).toMatchObject({
      ...{ change: 1, outcome: 'waiting', targets: [{ to: 'global', state: 'acknowledged' }] },
      onward: { targets: [{ to: 'west', state: 'sent', sentMs: 3 }] },
    });
    expect(asked).toEqual(['own']);
  });

  it('asks global once where several changes are, of those that global has', async () => {
    for (const name of ['a', 'b', 'a', 'c']) await put(name, { 'team.example/at': String(Math.random()) });
    const url = '/_changes/_onward?ids=1,2,3,4,99';
    expect((await get(url)).answer).toEqual({ items: [] });
    expect(asked).toEqual([]);
    onGlobal('a');
    const onward = { outcome: 'waiting', counts: COUNTS };
    expect((await get(url)).answer).toEqual({
      items: [
        { id: 1, onwardNote: expect.stringContaining('change 3') as string },
        { id: 2, onward },
        { id: 3, onward },
      ],
    });
    expect(asked).toEqual(['b a']);
  });

  it.each(['', '1,x', Array.from({ length: 51 }, (_, at) => at).join(',')])('refuses the numbers "%s"', async (ids) => {
    const { status, answer } = await get(`/_changes/_onward?ids=${ids}`);
    expect([status, answer['detail']]).toEqual([400, 'ids: must be 1 to 50 numbers of changes, such as 3,4']);
  });

  it('says of an older change of a resource that global knows of the newest', async () => {
    await put('own');
    await put('own', { 'team.example/changed': 'yes' });
    onGlobal('own');
    const { answer } = await get('/_changes/1');
    expect(answer).toMatchObject({ outcome: 'everywhere', onwardNote: expect.stringContaining('change 2') as string });
    expect(asked).toEqual([]);
  });
});
