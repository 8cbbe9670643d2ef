// The page with a fleet that no test machine has: the answers of its REST API are made here.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FastifyInstance } from 'fastify';
import type { Page } from 'playwright-core';
import type { Answer } from '../../src/api/answers.ts';
import { testApi } from '../api/test-api.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { openBrowser, type Browser } from './browser.ts';

const COUNT = 10_000;
/** Each of so many is not connected. */
const AWAY_EVERY = 400;
const RESOURCES = 500;

let api: FastifyInstance;
let browser: Browser;
let address: string;

beforeAll(async () => {
  api = testApi(new TinyStore(), 'global');
  address = await api.listen({ port: 0, host: '127.0.0.1' });
  browser = await openBrowser();
});

afterAll(async () => {
  await browser.close();
  await api.close();
});

const nameOf = (at: number): string => `zone-${String(at).padStart(5, '0')}`;

function summaryOf(at: number): Answer<'ZoneSummary'> {
  const isAway = at % AWAY_EVERY === 7;
  const state = isAway ? 'offline' : 'online';
  const since = '2026-11-20T08:00:00.000Z';
  const reason = isAway ? `zone ${nameOf(at)} is not connected since ${since}` : '';
  const replica = isAway ? null : 'cp-1';
  const condition = { enabled: true, refused: 0, withheld: 0, replica, reason };
  return { name: nameOf(at), state, since, lagMs: 0, pending: [], version: '0.1.0-preview', ...condition };
}

async function answerWithMany(page: Page): Promise<void> {
  await page.route('**/_events*', async (route) => {
    await route.fulfill({
      contentType: 'text/event-stream',
      body: 'event: resync\nid: a.0\ndata: {"reason":"started","instanceId":"cp-1"}\n\n',
    });
  });
  await page.route('**/_problems?*', async (route) => route.fulfill({ json: { total: 0, items: [], next: null } }));
  await page.route('**/zones/_summary', async (route) => {
    await route.fulfill({ json: { total: COUNT, items: Array.from({ length: COUNT }, (_, at) => summaryOf(at)) } });
  });
}

/** Each resource is everywhere but in a few zones. */
function matrixOf(count: number, offset: number): Answer<'SyncMatrix'> {
  const sent = { isSent: true, name: 'there', reason: 'written on global' } as const;
  const verdicts = [{ ...sent, state: 'inSync' } as const, { ...sent, state: 'refused', why: 'too new' } as const];
  const items = Array.from({ length: count }, (_, at) => {
    const name = `timeout-${String(offset + at).padStart(4, '0')}`;
    const resource = { type: 'MeshTimeout', mesh: 'default', name, labels: {} };
    return { resource, storedName: name, verdicts, runs: [0, 5_000, 1, 1, 0, COUNT - 5_001] };
  });
  return { total: RESOURCES, zones: Array.from({ length: COUNT }, (_, at) => nameOf(at)), items, next: 'more' };
}

describe('a fleet of 10,000 zones', () => {
  it('has a matrix with its resources, with few cells in the document', async () => {
    const { page, faults } = await browser.open(`${address}/gui/resources/meshtimeouts/default`, async (opened) => {
      await answerWithMany(opened);
      await opened.route('**/_matrix?*', async (route) => {
        const { searchParams } = new URL(route.request().url());
        const offset = Number(searchParams.get('offset'));
        // As the control plane does: fewer rows than were asked for.
        await route.fulfill({ json: matrixOf(Math.min(10, RESOURCES - offset), offset) });
      });
    });
    const grid = page.getByRole('grid', { name: 'Resources and zones' });
    await page
      .getByRole('row')
      .filter({ hasText: 'timeout-0000' })
      .filter({ hasText: '9,999 of 10,000, 1 refuses it' })
      .waitFor();
    expect(await grid.getByRole('gridcell').count()).toBeLessThan(3_000);
    await grid.evaluate((element) => (element as unknown as { scrollTop: number }).scrollTop = 1e6); // oxfmt-ignore
    await page.getByRole('row').filter({ hasText: 'timeout-0499' }).filter({ hasText: '9,999 of 10,000' }).waitFor();
    await page.getByLabel('Filter zones').fill(nameOf(5_000));
    await page.getByText('1–1 of 1').waitFor();
    await page
      .getByRole('row')
      .filter({ hasText: 'timeout-0499' })
      .getByLabel(`${nameOf(5_000)}: refuses it`)
      .click();
    await page
      .getByRole('status')
      .filter({ hasText: `timeout-0499 in ${nameOf(5_000)}: refuses it – too new` })
      .waitFor();
    await page.close();
    expect(faults).toEqual([]);
  });

  it('is a map and a table that scrolls, with few rows in the document', async () => {
    const { page, faults } = await browser.open(`${address}/gui/`, answerWithMany);
    await page.getByRole('img', { name: '10,000 zones, 9,975 online, 25 offline' }).waitFor();
    const table = page.getByRole('table', { name: 'Zones' });
    expect(await table.getAttribute('aria-rowcount')).toBe(String(COUNT + 1));
    await table.press('End');
    await table.getByRole('link', { name: nameOf(COUNT - 1) }).waitFor();
    expect(await table.getByRole('row').count()).toBeLessThan(60);
    await page.getByRole('button', { name: '25 offline' }).click();
    await page.getByRole('img', { name: '25 zones, 25 offline' }).waitFor();
    await table.press('Home');
    await table.getByText(`zone ${nameOf(7)} is not connected`).waitFor();
    expect(page.url()).toContain('state=offline');
    await page.close();
    expect(faults).toEqual([]);
  });
});
