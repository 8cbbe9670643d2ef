// A fleet that no test machine has: the answers of its REST API are made here, in the browser's requests.
import type { Page } from 'playwright-core';
import type { Answer } from '../../src/answers/answers.ts';

export const COUNT = 10_000;
/** Each of so many is not connected. */
const AWAY_EVERY = 400;
export const RESOURCES = 500;

export const nameOf = (at: number): string => `zone-${String(at).padStart(5, '0')}`;

const START = 'event: resync\nid: a.0\ndata: {"reason":"started","instanceId":"cp-1"}\n\n';

export function summaryOf(at: number): Answer<'ZoneSummary'> {
  const isAway = at % AWAY_EVERY === 7;
  const state = isAway ? 'offline' : 'online';
  const since = '2026-11-20T08:00:00.000Z';
  const reason = isAway ? `zone ${nameOf(at)} is not connected since ${since}` : '';
  const replica = isAway ? null : 'cp-1';
  const condition = { enabled: true, refused: 0, withheld: 0, replica, reason };
  return { name: nameOf(at), state, since, lagMs: 0, pending: [], version: '0.1.0-preview', ...condition };
}

export async function answerWithMany(page: Page): Promise<void> {
  await page.route('**/_events*', async (route) => {
    await route.fulfill({ contentType: 'text/event-stream', body: START });
  });
  await page.route('**/_problems?*', async (route) => route.fulfill({ json: { total: 0, items: [], next: null } }));
  await page.route('**/zones/_summary', async (route) => {
    await route.fulfill({ json: { total: COUNT, items: Array.from({ length: COUNT }, (_, at) => summaryOf(at)) } });
  });
}

export const IN_STEP: Answer<'ZoneProgress'>['sync'] = {
  ...{ state: 'online', connection: 'online', since: null, pending: [], lagMs: 0, reason: '' },
};

/** Answers the requests for the progress of zones. */
export async function answerWithProgress(page: Page): Promise<void> {
  const progressOf = (name: string): Answer<'ZoneProgress'> => {
    const step = { behind: 0, since: null, oldestMs: 0, confirmedAt: null, refused: 0, withheld: 0 };
    return { name, instanceId: 'cp-1', sync: IN_STEP, types: [{ type: 'MeshTimeout', ...step }] };
  };
  const names = Array.from({ length: COUNT }, (_, at) => nameOf(at));
  await page.route('**/zones/*/_progress', async (route) => {
    const { pathname } = new URL(route.request().url());
    await route.fulfill({ json: progressOf(pathname.split('/')[2] ?? '') });
  });
  await page.route('**/zones/_progress?*', async (route) => {
    const { searchParams } = new URL(route.request().url());
    const found = names.filter((name) => name.includes(searchParams.get('name') ?? ''));
    const offset = Number(searchParams.get('offset'));
    const items = found.slice(offset, offset + Number(searchParams.get('size'))).map(progressOf);
    await route.fulfill({ json: { total: found.length, items, next: null } });
  });
}

/** Answers the requests of a matrix: fewer rows than were asked for, as the control plane does. */
export async function answerWithMatrix(page: Page): Promise<void> {
  await page.route('**/_matrix?*', async (route) => {
    const { searchParams } = new URL(route.request().url());
    const offset = Number(searchParams.get('offset'));
    const { zones, ...matrix } = matrixOf(Math.min(Number(searchParams.get('size')), 10, RESOURCES - offset), offset);
    const isKnown = searchParams.get('zonesVersion') === matrix.zonesVersion;
    await route.fulfill({ json: isKnown ? matrix : { ...matrix, zones } });
  });
}

/** A resource that every zone has. */
export const EVERYWHERE = 12;

/** The other resources are everywhere but in a few zones. */
function matrixOf(count: number, offset: number): Answer<'SyncMatrix'> {
  const sent = { isSent: true, name: 'there', reason: 'written on global' } as const;
  const verdicts = [{ ...sent, state: 'inSync' } as const, { ...sent, state: 'refused', why: 'too new' } as const];
  const items = Array.from({ length: count }, (_, at) => {
    const name = `timeout-${String(offset + at).padStart(4, '0')}`;
    const resource = { type: 'MeshTimeout', mesh: 'default', name, labels: {} };
    const isEverywhere = offset + at === EVERYWHERE;
    return {
      resource,
      storedName: name,
      verdicts: isEverywhere ? verdicts.slice(0, 1) : verdicts,
      runs: isEverywhere ? [0, COUNT] : [0, 5_000, 1, 1, 0, COUNT - 5_001],
    };
  });
  const zones = Array.from({ length: COUNT }, (_, at) => nameOf(at));
  return { total: RESOURCES, zones, zonesVersion: 'v1', items, next: 'more' };
}
