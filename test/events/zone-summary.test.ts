// `GET /zones/_summary`: all zones, a line each.
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { answerSchemas, type Answer } from '../../src/answers/answers.ts';
import { ReplicaQuestions } from '../../src/replicas/replica-questions.ts';
import { createEvents } from '../../src/events/create-events.ts';
import { addSummaryRoute } from '../../src/events/summary-route.ts';
import { ProxyInsights } from '../../src/zone-status/proxy-insights.ts';
import { CurrentProblems } from '../../src/problems/current-problems.ts';
import { Receipts } from '../../src/receipts/receipts.ts';
import { ReplicaRoster } from '../../src/replicas/replica-roster.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { following } from '../support/following.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { UNREADABLE } from '../../src/zone-status/readable-problems.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { testApi } from '../api/test-api.ts';

type Summary = { readonly total: number; readonly items: readonly Answer<'ZoneSummary'>[] };

let store: TinyStore;
let app: FastifyInstance;
let stopHub: () => void;
let made: () => number;

const connectTime = '2026-01-01T00:00:00.000Z';
const version = { kumaCp: { version: '0.1.0-preview' } };

async function insight(zone: string, subscription: JsonObject, status: JsonObject = {}): Promise<void> {
  // Most of an insight is the configuration of the zone.
  const spec = { subscriptions: [{ id: '1', connectTime, version, config: 'x'.repeat(8_000), ...subscription }] };
  await store.write({ op: 'put', key: { type: 'ZoneInsight', mesh: '', name: zone }, labels: {}, spec, status });
}

const summary = async (headers: Record<string, string> = {}): Promise<Awaited<ReturnType<FastifyInstance['inject']>>> =>
  await app.inject({ url: '/zones/_summary', headers: { host: 'localhost', ...headers } });

beforeEach(() => {
  store = new TinyStore().withZones('west', 'east');
  const questions = new ReplicaQuestions({ store, instanceId: 'cp-1', ...following });
  const receipts = new Receipts({ mode: 'global', store, questions, instanceId: 'cp-1', ...following });
  const roster = new ReplicaRoster({ store, instanceId: 'cp-1', version: '0.1.0-preview', ...following });
  const lagOf = (): undefined => undefined;
  const ends = async () => ({ certificates: new Map<string, Date>(), tokens: new Map<string, Date>() });
  const about = { mode: 'global', zone: null, instanceId: 'cp-1', productVersion: '0.1.0-preview' } as const;
  const problems = new CurrentProblems({
    ...{ ...about, store, lagOf, roster, ends, clock: following.clock },
    notForwarded: () => new Map(),
    takeoverLosses: () => [],
    refusedProxies: () => [],
    insights: new ProxyInsights({ store, kept: 'all' }),
    indexes: { known: () => [] },
  });
  const events = createEvents({ store, lagOf, receipts, problems, roster, instanceId: 'cp-1', ...following });
  stopHub = () => events.hub.stop();
  const summaries = vi.spyOn(events, 'summaries');
  made = () => summaries.mock.calls.length;
  // An answer is kept for a time that does not pass.
  const clock = new ManualClock();
  app = testApi(store, 'global', { clock, addRoutes: (api, context) => addSummaryRoute(api, context, events) });
});

afterEach(async () => {
  await app.close();
  stopHub();
});

describe('the summary of the zones', () => {
  it('names no resource that only some callers may read', async () => {
    const problem = {
      stream: 'globalToZone',
      kind: 'refused',
      resources: ['password.default'],
      count: 1,
      message: 'bad password',
    };
    const status = (type: string): JsonObject => ({ syncProblems: [{ ...problem, type, time: connectTime }] });
    await insight('east', { globalInstanceId: 'cp-1' }, status('Secret'));
    await insight('west', { globalInstanceId: 'cp-1' }, status('MeshTimeout'));
    const { items } = JSON.parse((await summary()).body) as Summary;
    expect(items.map(({ refused, reason }) => [refused, reason])).toEqual([
      [1, `Secret: ${UNREADABLE}`],
      [1, 'MeshTimeout password.default: bad password'],
    ]);
  });

  it('has a line for each zone, by name', async () => {
    await insight('east', { globalInstanceId: 'cp-1' });
    await insight('west', { disconnectTime: '2026-01-02T00:00:00.000Z' });
    const { statusCode, headers, body } = await summary();
    expect([statusCode, headers['content-type']]).toEqual([200, 'application/json']);
    const { total, items } = JSON.parse(body) as Summary;
    for (const item of items) answerSchemas.ZoneSummary.parse(item);
    const since = '2026-01-02T00:00:00.000Z';
    const none = { lagMs: 0, pending: [], enabled: true, refused: 0, withheld: 0 };
    expect([total, items]).toEqual([
      2,
      [
        { ...none, name: 'east', state: 'online', since: connectTime, version: '0.1.0-preview', replica: 'cp-1', reason: '' },
        {
          ...{ ...none, name: 'west', state: 'offline', since, version: '0.1.0-preview', replica: null },
          reason: `zone west is not connected since ${since}`,
        },
      ],
    ]);
    expect(body.length).toBeLessThan(1_000);
  });

  it('is made once for callers at the same time', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => summary()));
    expect(new Set(answers.map(({ headers }) => headers['etag'])).size).toBe(1);
    expect(made()).toBe(1);
  });

  it('counts what a zone refuses, and gives the first reason', async () => {
    const problem = { stream: 'globalToZone', type: 'MeshTimeout', resources: ['a.default'], message: 'no', time: connectTime };
    const syncProblems = [
      { ...problem, kind: 'refused', count: 3 },
      { ...problem, kind: 'withheld', count: 1, message: 'too new' },
    ];
    await insight('east', {}, { syncProblems });
    const { items } = (await summary()).json<Summary>();
    expect(items[0]).toMatchObject({
      name: 'east',
      state: 'online',
      refused: 3,
      withheld: 1,
      reason: 'MeshTimeout a.default: no',
    });
  });

  it('answers 304 for the ETag of an answer that is still so, and has each change with its event', async () => {
    await insight('east', {});
    const first = await summary();
    const etag = String(first.headers['etag']);
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*'])
      expect((await summary({ 'if-none-match': known })).statusCode).toBe(304);
    expect((await summary({ 'if-none-match': '"other"' })).statusCode).toBe(200);
    await insight('east', { disconnectTime: '2026-01-02T00:00:00.000Z' });
    await expect.poll(async () => (await summary({ 'if-none-match': etag })).statusCode).toBe(200);
    expect((await summary()).json<Summary>().items[0]).toMatchObject({ name: 'east', state: 'offline' });
  });
});
