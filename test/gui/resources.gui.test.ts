// The pages of resources in a browser, with a global and two zones: history, and resources × zones.
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { Page } from 'playwright-core';
import { startFleet, type ControlPlane, type Fleet } from '../support/control-plane.ts';
import { seriousFaults } from './accessibility.ts';
import { openBrowser, type Browser, type OpenPage } from './browser.ts';

let fleet: Fleet;
let browser: Browser;
let east: ControlPlane;

async function openPage(path: string, cp = fleet.global): Promise<OpenPage> {
  return await browser.open(`http://127.0.0.1:${String(cp.api)}/gui/${path}`);
}

async function close({ page, faults }: OpenPage): Promise<void> {
  await page.close();
  expect(faults.join('\n')).toBe('');
}

const rowOf = (page: Pick<Page, 'getByRole'>, text: string): ReturnType<Page['locator']> =>
  page.getByRole('row').filter({ hasText: text });

const timeout = (name: string, idleTimeout: string, labels: Record<string, string> = {}): Record<string, unknown> => ({
  ...{ type: 'MeshTimeout', mesh: 'shop', name, labels },
  spec: { targetRef: { kind: 'Mesh' }, to: [{ targetRef: { kind: 'Mesh' }, default: { idleTimeout } }] },
});

beforeAll(async () => {
  [fleet, browser] = await Promise.all([startFleet(inject('postgresUrl'), ['east', 'west']), openBrowser()]);
  [east] = fleet.zones as [ControlPlane];
  expect(await fleet.global.put('/meshes/shop', { type: 'Mesh', name: 'shop' })).toBe(201);
  for (const idle of ['1s', '2s', '3s']) await fleet.global.put('/meshes/shop/meshtimeouts/told', timeout('told', idle));
});

afterAll(async () => {
  await browser.close();
  await fleet.stop();
});

describe('the history of a resource', () => {
  it('says who wrote which version, compares two, and writes one again after a dry run', async () => {
    const opened = await openPage('resources/meshtimeouts/shop/told');
    const { page } = opened;
    const history = page.getByRole('region', { name: 'History' });
    await rowOf(page, 'spec.to.0.default.idleTimeout').filter({ hasText: 'admin' }).first().waitFor();
    await history.getByText('From version 1 to 2').waitFor();
    await history.getByLabel('from version 0').check();
    await history.getByText('From version 0 to 2').waitFor();
    await history.getByLabel('Difference').getByText('"3s"').waitFor();
    expect(await seriousFaults(page)).toEqual([]);
    await history.getByRole('button', { name: 'Go back to version 0…' }).click();
    await history.getByLabel('What the way back would change').getByText('"1s"').waitFor();
    await page.getByLabel('Stored document').getByText('idleTimeout: 3s').waitFor();
    await history.getByRole('button', { name: 'Write version 0 again' }).click();
    await page.getByLabel('Stored document').getByText('idleTimeout: 1s').waitFor();
    await history.getByRole('cell', { name: 'version 0 again' }).waitFor();
    await close(opened);
  });

  it('refuses a way back when somebody was faster than its plan', async () => {
    for (const idle of ['1s', '2s', '3s']) await fleet.global.put('/meshes/shop/meshtimeouts/faster', timeout('faster', idle));
    const { page } = await openPage('resources/meshtimeouts/shop/faster');
    const history = page.getByRole('region', { name: 'History' });
    await history.getByLabel('from version 0').check();
    await history.getByRole('button', { name: 'Go back to version 0…' }).click();
    await history.getByLabel('What the way back would change').getByText('"1s"').waitFor();
    await fleet.global.put('/meshes/shop/meshtimeouts/faster', timeout('faster', '9s'));
    await history.getByLabel('from version 3').waitFor();
    await history.getByRole('button', { name: 'Write version 0 again' }).click();
    await history.getByRole('alert').waitFor();
    await page.getByLabel('Stored document').getByText('idleTimeout: 9s').waitFor();
    // The plan is dropped, and the next one is of what is stored now. It is refused too until the page has read the resource again.
    const write = history.getByRole('button', { name: 'Write version 0 again' });
    do {
      await history.getByRole('button', { name: 'Go back to version 0…' }).click();
      await write.or(history.getByRole('alert')).first().waitFor();
    } while (!(await write.isVisible()));
    await write.click();
    await page.getByLabel('Stored document').getByText('idleTimeout: 1s').waitFor();
    await page.close();
  });

  it('says where a copy was written', async () => {
    await fleet.global.put('/meshes/shop/meshtimeouts/told', timeout('told', '4s'));
    const opened = await openPage('resources/meshtimeouts/shop', east);
    await opened.page.getByRole('link', { name: 'told' }).click();
    await opened.page.getByText('It was written on global').waitFor();
    await close(opened);
  });
});

describe('a document over the limit of YAML', () => {
  it('is shown, changed and removed as JSON', async () => {
    // 200 kB, and 450 kB as the page indents it.
    const to = Array.from({ length: 2_000 }, (_, at) => ({
      targetRef: { kind: 'MeshService', labels: { app: `app-${String(at)}` } },
      default: { idleTimeout: '1s', http: { requestTimeout: '2s', streamIdleTimeout: '3s' } },
    }));
    const large = { type: 'MeshTimeout', mesh: 'shop', name: 'large', spec: { targetRef: { kind: 'Mesh' }, to } };
    expect(await fleet.global.put('/meshes/shop/meshtimeouts/large', large)).toBe(201);
    const { page } = await openPage('resources/meshtimeouts/shop/large');
    const region = page.getByRole('region', { name: 'Document' });
    await region.getByText('It is shown as JSON, not as YAML').waitFor();
    await region.getByLabel('Stored document').getByText('"app-1999"').waitFor();
    await region.getByRole('button', { name: 'Edit' }).click();
    const document = region.getByLabel('Document as JSON');
    // To type so much takes minutes.
    await document.evaluate((area) => {
      const field = area as unknown as { value: string } & EventTarget;
      field.value = field.value.replace('"idleTimeout": "1s"', '"idleTimeout": "9s"');
      field.dispatchEvent(new Event('input', { bubbles: true }));
    });
    await region.getByRole('button', { name: 'Check' }).click();
    await region.getByLabel('Difference').getByText('spec.to.0.default.idleTimeout: "9s"').waitFor();
    await region.getByRole('button', { name: 'Apply' }).click();
    await region.getByLabel('Stored document').getByText('"idleTimeout": "9s"').waitFor();
    await region.getByRole('button', { name: 'Edit' }).click();
    await region.getByRole('button', { name: 'Remove this resource' }).click();
    await region.getByRole('button', { name: 'Remove', exact: true }).click();
    await page.waitForURL('**/gui/resources/meshtimeouts');
    await page.close();
  });
});

describe('a removal', () => {
  it('is answered after its event, and the page asks for nothing that is gone', async () => {
    expect(await fleet.global.put('/meshes/shop/meshtimeouts/gone', timeout('gone', '1s'))).toBe(201);
    const changes = await openPage('changes');
    const opened = await openPage('resources/meshtimeouts/shop/gone');
    const { page } = opened;
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByRole('button', { name: 'Remove this resource' }).click();
    await page.route('**/meshtimeouts/gone', async (route) => {
      const response = await route.fetch();
      const removed = rowOf(changes.page, 'gone').filter({ hasText: 'removed' });
      // The event of the removal, and that of its arrival in the zones.
      await removed.filter({ hasText: 'everywhere' }).waitFor();
      await route.fulfill({ response });
    });
    await page.getByRole('button', { name: 'Remove', exact: true }).click();
    await page.waitForURL('**/gui/resources/meshtimeouts');
    await close(opened);
    await close(changes);
  });
});

describe('resources and zones', () => {
  it('shows which zone has what, and the name, the rule and the reason of each cell', async () => {
    const label = { 'kuma.io/kds-sync': 'disabled' };
    expect(await fleet.global.put('/meshes/shop/meshtimeouts/kept', timeout('kept', '5s', label))).toBe(201);
    expect(await east.put('/meshes/shop/meshtimeouts/own', timeout('own', '6s', { 'kuma.io/origin': 'zone' }))).toBe(201);
    const opened = await openPage('resources/meshtimeouts');
    const { page } = opened;
    await page.getByRole('link', { name: 'By zone' }).click();
    await page.getByRole('combobox', { name: 'Mesh' }).selectOption('shop');
    await rowOf(page, 'told').filter({ hasText: '2 of 2' }).waitFor();
    await rowOf(page, 'kept').filter({ hasText: 'for no zone' }).waitFor();
    await rowOf(page, 'own (east)').getByLabel('east: has the original').waitFor();
    const grid = page.getByRole('grid', { name: 'Resources and zones' });
    expect(await seriousFaults(page)).toEqual([]);
    await rowOf(page, 'told').getByLabel('west: has it').click();
    const detail = page.getByRole('status').filter({ hasText: 'told in west' });
    await detail.getByText('Name there: told-').waitFor();
    await detail.getByText('Rule: written on global').waitFor();
    await grid.focus();
    await page.keyboard.press('PageUp');
    for (let step = 0; step < 10; step += 1) {
      if ((await page.getByRole('status').filter({ hasText: 'kept in' }).count()) > 0) break;
      await page.keyboard.press('ArrowDown');
    }
    await page.getByRole('status').filter({ hasText: 'kept in west: not sent' }).waitFor();
    await close(opened);
  });

  it('follows a change without a reload', async () => {
    const opened = await openPage('resources/meshtimeouts/shop');
    await rowOf(opened.page, 'told').waitFor();
    expect(await fleet.global.put('/meshes/shop/meshtimeouts/newest', timeout('newest', '7s'))).toBe(201);
    await rowOf(opened.page, 'newest').filter({ hasText: '2 of 2' }).waitFor();
    await close(opened);
  });

  it('follows a zone that leaves a mesh and joins it again', async () => {
    const matrix = await openPage('resources/meshtimeouts/shop');
    const resource = await openPage('resources/meshtimeouts/shop/told');
    const west = rowOf(resource.page.getByRole('table', { name: 'Zones of the resource' }), 'west');
    await rowOf(matrix.page, 'told').filter({ hasText: '2 of 2' }).waitFor();
    await west.filter({ hasText: 'has it' }).waitFor();
    for (const [meshes, count, state] of [[['other'], '1 of 1', 'not sent'] as const, [['shop'], '2 of 2', 'has it'] as const]) {
      expect(await fleet.global.put('/zones/west', { type: 'Zone', name: 'west', enabled: true, meshes })).toBe(200);
      await rowOf(matrix.page, 'told').filter({ hasText: count }).waitFor();
      await west.filter({ hasText: state }).waitFor();
    }
    await close(matrix);
    await close(resource);
  });

  it('shows how far each zone is with each type, on global and in a zone', async () => {
    for (const [cp, zone] of [[fleet.global, 'west'] as const, [east, 'east'] as const]) {
      const opened = await openPage('resources', cp);
      const { page } = opened;
      await page.getByRole('link', { name: 'By zone' }).click();
      await rowOf(page, 'MeshMetric').getByLabel(`${zone}: in step`).click();
      await page
        .getByRole('status')
        .filter({ hasText: `MeshMetric in ${zone}` })
        .waitFor();
      expect(await seriousFaults(page)).toEqual([]);
      await close(opened);
    }
  });
});
