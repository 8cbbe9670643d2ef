// What the preview and the answer of a write of a Zone say about the resources that it moves.
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { MembershipChangeOf } from '../../src/writes/membership-change.ts';
import { runSteps } from '../../src/base/steps.ts';
import { createLogger } from '../../src/base/log.ts';
import { previewText } from '../../src/cli/views/preview-text.ts';
import { membershipLines } from '../../src/cli/views/membership-text.ts';
import { addPolicyInspect } from '../../src/inspect/add-inspect-routes.ts';
import { Changelog } from '../../src/kds/log/changelog.ts';
import { MAX_ROW_NAMES, membershipChange } from '../../src/kds/log/membership-change.ts';
import { globalSendRules } from '../../src/kds/protocol/rules.ts';
import type { JsonObject, ResourceKey } from '../../src/resource/types.ts';
import { ANY_ZONE } from '../../src/resource/zone-profile.ts';
import type { Answer } from '../../src/answers/answers.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { testApi } from '../api/test-api.ts';

let store: TinyStore;
let app: FastifyInstance;
let stop: AbortController;

beforeEach(async () => {
  stop = new AbortController();
  store = new TinyStore().withZones('east', 'west');
  for (const mesh of ['shop', 'pay']) {
    await store.write({ op: 'create', key: { type: 'Mesh', mesh: '', name: mesh }, labels: {}, spec: {} });
    for (let n = 0; n < 7; n += 1) await create({ type: 'Secret', mesh, name: `key-${String(n)}` }, { data: 'c2VjcmV0' });
  }
  const labels = { 'kuma.io/origin': 'zone', 'kuma.io/zone': 'east', 'kuma.io/display-name': 'till' };
  await store.write({
    ...{ op: 'create', key: { type: 'MeshService', mesh: 'pay', name: 'till' }, labels, spec: { ports: [] } },
    owner: { type: 'Zone', mesh: '', name: 'east' },
  });
  await create({ type: 'MeshExternalService', mesh: 'shop', name: 'bank' }, {}, { 'exported-to.meridian.io/region': 'eu' });
  const changelog = new Changelog(store, globalSendRules(), createLogger('silent'));
  void changelog.run(stop.signal);
  const change: MembershipChangeOf = async (one) => {
    await changelog.caughtUp();
    return runSteps(membershipChange(changelog, one, { features: null, profileOf: () => ANY_ZONE }));
  };
  app = testApi(store, 'global', { addRoutes: addPolicyInspect(globalSendRules()), membershipChange: change });
});
afterEach(async () => {
  stop.abort();
  await app.close();
});

function create(key: ResourceKey, spec: JsonObject, labels: Record<string, string> = {}): Promise<unknown> {
  return store.write({ op: 'create', key, labels, spec });
}

const zone = (more: JsonObject): JsonObject => ({ type: 'Zone', name: 'east', ...more });

async function send<Sent = JsonObject>(method: 'POST' | 'PUT', url: string, payload: unknown): Promise<Sent> {
  const headers = { 'content-type': 'application/json' };
  const { statusCode, body } = await app.inject({ method, url, headers, payload: JSON.stringify(payload) });
  expect([statusCode, body]).toEqual([200, body]);
  return JSON.parse(body) as Sent;
}

describe('a Zone that leaves a mesh', () => {
  const names = Array.from({ length: MAX_ROW_NAMES }, (_, n) => `key-${String(n)}`);
  const membership = {
    zone: 'east',
    loses: {
      total: 8,
      groups: [
        { type: 'Secret', mesh: 'pay', total: 7, names },
        { type: 'Mesh', mesh: '', total: 1, names: ['pay'] },
      ],
    },
    gets: { total: 0, groups: [] },
    othersLose: { total: 1, groups: [{ type: 'MeshService', mesh: 'pay', total: 1, names: ['till'] }] },
    othersGet: { total: 0, groups: [] },
  };

  it('is previewed with what it loses, gets and no longer shares', async () => {
    const answer = await send<Answer<'Preview'>>('POST', '/_preview', [zone({ meshes: ['shop'] })]);
    expect(answer.items[0]?.membership).toEqual(membership);
    expect(previewText(answer).split('\n').slice(0, 6)).toEqual([
      'Zone east would be updated',
      '  east loses: 8 resources',
      '    7 Secret in mesh pay: key-0, key-1, key-2, key-3, key-4, …',
      '    1 Mesh: pay',
      '  the other zones lose, of those of east: 1 resource',
      '    1 MeshService in mesh pay: till',
    ]);
  });

  it('answers a PUT and an apply with the same', async () => {
    expect(await send('PUT', '/zones/east', zone({ meshes: ['shop'] }))).toMatchObject({ membership });
    expect(await send('PUT', '/zones/east', zone({ meshes: ['shop'] }))).not.toHaveProperty('membership');
    const { items } = await send<Answer<'Applied'>>('POST', '/_apply', [zone({ meshes: ['shop', 'pay'] })]);
    const back = items[0]?.membership;
    expect([back?.gets, back?.othersGet, back?.loses.total]).toEqual([membership.loses, membership.othersLose, 0]);
    expect(membershipLines(back)[0]).toBe('east gets: 8 resources');
  });
});

it('a label of a Zone that services are exported to is previewed with the services that it brings', async () => {
  const answer = await send<Answer<'Preview'>>('POST', '/_preview', [zone({ labels: { region: 'eu' } })]);
  const gets = { total: 1, groups: [{ type: 'MeshExternalService', mesh: 'shop', total: 1, names: ['bank'] }] };
  expect(answer.items[0]?.membership).toMatchObject({ gets, loses: { total: 0 } });
});

it('a Zone that is new, and a change that moves nothing, say nothing of resources', async () => {
  const answer = await send<Answer<'Preview'>>('POST', '/_preview', [
    { type: 'Zone', name: 'north', meshes: ['shop'] },
    zone({ labels: { team: 'a' } }),
  ]);
  expect(answer.items.map((item) => item.membership)).toEqual([undefined, undefined]);
});
