// The page with a fleet that no test machine has: the answers of its REST API are made here.
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { FastifyInstance } from 'fastify';
import { testApi } from '../api/test-api.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { openBrowser, type Browser } from './browser.ts';
import { answerWithMany, answerWithMatrix, answerWithProgress, COUNT, IN_STEP, nameOf } from './fake-fleet.ts';

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

describe('a fleet of 10,000 zones', () => {
  it('has a matrix with its resources, with few cells in the document', async () => {
    const { page, faults } = await browser.open(`${address}/gui/resources/meshtimeouts/default`, async (opened) => {
      await answerWithMany(opened);
      await answerWithMatrix(opened);
    });
    const grid = page.getByRole('grid', { name: 'Resources and zones' });
    await page
      .getByRole('row')
      .filter({ hasText: 'timeout-0000' })
      .filter({ hasText: '9,999 of 10,000, 1 refuses it' })
      .waitFor();
    // Neighbours that are equal are one cell; the one with the focus is apart.
    expect(await grid.getByRole('gridcell').count()).toBeLessThan(200);
    const row = grid.getByRole('row').filter({ hasText: 'timeout-0001' });
    const run = row.getByRole('gridcell', { name: `${nameOf(0)} to `, exact: false });
    const columns = Number(await run.getAttribute('aria-colspan'));
    expect(columns).toBeGreaterThan(8);
    const { width = 0 } = (await run.boundingBox()) ?? {};
    await run.click({ position: { x: (5.5 * width) / columns, y: 10 } });
    await page
      .getByRole('status')
      .filter({ hasText: `timeout-0001 in ${nameOf(5)}: has it` })
      .waitFor();
    const chosen = row.getByRole('gridcell', { name: `${nameOf(5)}: has it`, selected: true });
    expect(await chosen.getAttribute('id')).toBe(await grid.getAttribute('aria-activedescendant'));
    expect(await chosen.getAttribute('aria-colindex')).toBe('8');
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
    expect(faults.join('\n')).toBe('');
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
    expect(faults.join('\n')).toBe('');
  });

  it('finds a zone by the filter of a matrix while later zones are shown', async () => {
    const { page } = await browser.open(`${address}/gui/resources?view=zones`, answerWithProgress);
    const region = page.getByRole('region', { name: 'Types and zones' });
    await region.getByText('of 10,000').waitFor();
    await region.getByRole('button', { name: 'Zones after' }).click();
    await vi.waitFor(() => expect(new URL(page.url()).searchParams.get('from')).not.toBeNull());
    await region.getByLabel('Filter zones').fill(nameOf(7));
    await region.getByText('1–1 of 1').waitFor();
    await region.getByLabel(`${nameOf(7)}: in step`).waitFor();
    // An address of a time with more zones.
    await page.goto(`${address}/gui/resources?view=zones&from=20000`);
    await region.getByText('of 10,000').waitFor();
    await region.getByLabel(`${nameOf(0)}: in step`).waitFor();
    await page.close();
  });

  it('shows the types of a zone whose name is a part of very many names', async () => {
    const { page } = await browser.open(`${address}/gui/zones/zone`, async (opened) => {
      await answerWithProgress(opened);
      await opened.route('**/zones/zone/_overview', async (route) =>
        route.fulfill({ json: { type: 'ZoneOverview', name: 'zone', zone: {}, sync: IN_STEP } }),
      );
    });
    await page.getByRole('region', { name: 'Types' }).getByText('MeshTimeout').waitFor();
    await page.close();
  });

  it('shows more rows of a matrix in a window that grew', async () => {
    const { page } = await browser.open(`${address}/gui/resources/meshtimeouts/default`, async (opened) => {
      await opened.setViewportSize({ width: 1440, height: 420 });
      await answerWithMany(opened);
      await answerWithMatrix(opened);
    });
    const row = (at: number): ReturnType<typeof page.getByRole> => page.getByRole('row').filter({ hasText: `timeout-00${at}` });
    await row(12).waitFor();
    expect(await row(23).count()).toBe(0);
    await page.setViewportSize({ width: 1440, height: 1_300 });
    await row(23).waitFor();
    await page.close();
  });

  it('counts all problems, also those that are not listed', async () => {
    const listed = Array.from({ length: 1_000 }, (_, at) => ({
      ...{ id: `zoneAway/${nameOf(at)}`, code: 'zoneAway', zone: nameOf(at), since: null },
      ...{ message: 'it is away', remedy: 'look at it', runbook: 'docs/runbook.md' },
    }));
    const { page } = await browser.open(`${address}/gui/`, async (opened) => {
      await answerWithMany(opened);
      await opened.route('**/_problems?*', async (route) => route.fulfill({ json: { total: 1_500, items: listed, next: '' } }));
    });
    await page.getByRole('link', { name: 'All 1,500' }).waitFor();
    await page.close();
  });
});
