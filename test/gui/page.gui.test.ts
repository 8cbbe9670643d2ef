// The page in a browser, with a global and two zones.
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import type { Page } from 'playwright-core';
import { stringify } from 'yaml';
import { startFleet, type ControlPlane, type Fleet } from '../support/control-plane.ts';
import { seriousFaults, tabTo } from './accessibility.ts';
import { openBrowser, type Browser, type OpenPage } from './browser.ts';

let fleet: Fleet;
let browser: Browser;
let east: ControlPlane;
let west: ControlPlane;

const addressOf = (cp: ControlPlane, path = ''): string => `http://127.0.0.1:${String(cp.api)}/gui/${path}`;

/** Opens a place on global. */
async function openPage(path = '', cp = fleet.global): Promise<OpenPage> {
  return await browser.open(addressOf(cp, path));
}

async function close({ page, faults }: OpenPage): Promise<void> {
  await page.close();
  expect(faults.join('\n')).toBe('');
}

const rowOf = (page: Page, text: string): ReturnType<Page['locator']> => page.getByRole('row').filter({ hasText: text });

const timeout = (idleTimeout: string): Record<string, unknown> => ({
  ...{ type: 'MeshTimeout', mesh: 'shop', name: 'seen' },
  spec: { targetRef: { kind: 'Mesh' }, to: [{ targetRef: { kind: 'Mesh' }, default: { idleTimeout } }] },
});

const selectionOf = (area: unknown): string => {
  const { value, selectionStart, selectionEnd } = area as { value: string; selectionStart: number; selectionEnd: number };
  return value.slice(selectionStart, selectionEnd);
};

beforeAll(async () => {
  [fleet, browser] = await Promise.all([startFleet(inject('postgresUrl'), ['east', 'west']), openBrowser()]);
  [east, west] = fleet.zones as [ControlPlane, ControlPlane];
  expect(await fleet.global.put('/meshes/shop', { type: 'Mesh', name: 'shop' })).toBe(201);
});

afterAll(async () => {
  await browser.close();
  await fleet.stop();
});

describe('the page', () => {
  it('shows each zone, on global and in a zone', async () => {
    const onGlobal = await openPage();
    for (const zone of ['east', 'west']) await rowOf(onGlobal.page, zone).filter({ hasText: 'online' }).waitFor();
    await onGlobal.page.getByRole('img', { name: '2 zones, 2 online' }).waitFor();
    await close(onGlobal);
    const inZone = await openPage('', west);
    await rowOf(inZone.page, 'west').filter({ hasText: 'online' }).waitFor();
    await close(inZone);
  });

  it('shows a dot for each zone that has a change, without a reload', async () => {
    const opened = await openPage('changes');
    const { page } = opened;
    await rowOf(page, 'Mesh shop').first().waitFor();
    expect(await fleet.global.put('/meshes/shop/meshtimeouts/seen', timeout('7s'))).toBe(201);
    await rowOf(page, 'MeshTimeout shop/seen').filter({ hasText: '2/2' }).waitFor();
    await page.getByRole('img', { name: /the slowest took .* to its last zone/ }).waitFor();
    for (const zone of ['east', 'west']) await page.locator(`circle[data-zone=${zone}]`).waitFor();
    await close(opened);
  });

  it('shows the way of a change of a zone to global and to the other zones', async () => {
    const service = { type: 'MeshService', mesh: 'shop', name: 'both', labels: { 'kuma.io/origin': 'zone' }, spec: {} };
    const opened = await openPage('changes', east);
    const { page } = opened;
    await page.getByRole('heading', { name: 'Changes' }).waitFor();
    expect(await east.put('/meshes/shop/meshservices/both', service)).toBe(201);
    const card = page.getByRole('region', { name: 'The newest change' });
    await card.getByText('MeshService shop/both').waitFor();
    await card.locator('circle[data-zone=west]').waitFor();
    const way = card.getByRole('list', { name: 'The way of the change' });
    await way.getByText('global').waitFor();
    await way.getByText('1 of 1 other zone').waitFor();
    await page
      .getByRole('table', { name: 'Changes' })
      .getByRole('row')
      .filter({ hasText: 'shop/both' })
      .filter({ hasText: '1/1' })
      .first()
      .waitFor();
    await card.getByRole('table', { name: 'Other zones of the change' }).getByText('west').waitFor();
    expect(await seriousFaults(page)).toEqual([]);
    const own = { ...timeout('3s'), name: 'stays', labels: { 'kuma.io/origin': 'zone' } };
    expect(await east.put('/meshes/shop/meshtimeouts/stays', own)).toBe(201);
    await card.getByText('Global sends it to no other zone: only producer policies cross zones').waitFor();
    await close(opened);
    const resource = await openPage('resources/meshservices/shop/both', east);
    await resource.page.getByRole('region', { name: 'The newest change' }).locator('circle[data-zone=west]').waitFor();
    await close(resource);
  });

  it('checks a document, shows the difference, and refuses it when somebody was faster', async () => {
    const opened = await openPage('resources/meshtimeouts/shop/seen');
    const { page, faults } = opened;
    await page.getByRole('button', { name: 'Edit' }).click();
    const document = page.getByLabel('Document as YAML');
    const stored = await document.inputValue();
    await document.fill(stored.replace('7s', 'soon'));
    await page.getByRole('button', { name: 'Check' }).click();
    const alert = page.getByRole('alert');
    await alert.getByText('spec.to[0].default.idleTimeout').waitFor();
    await alert.getByRole('button', { name: /^line \d+$/ }).click();
    expect(await document.evaluate(selectionOf)).toContain('idleTimeout: soon');
    await document.fill(stored.replace('7s', '8s'));
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByLabel('Difference').getByText('spec.to.0.default.idleTimeout: "8s"').waitFor();
    await page.getByRole('heading', { name: /proxies would change/ }).waitFor();
    await rowOf(page, 'east').filter({ hasText: 'yes' }).waitFor();
    await page.getByRole('button', { name: 'JSON' }).click();
    await page.getByLabel('Document as JSON').waitFor();
    expect(await page.getByLabel('Document as JSON').inputValue()).toContain('"idleTimeout": "8s"');
    await page.getByRole('button', { name: 'YAML' }).click();
    await document.waitFor();
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByLabel('Difference').waitFor();
    await fleet.global.put('/meshes/shop/meshtimeouts/seen', timeout('9s'));
    await page.getByText('Somebody else has changed it').waitFor();
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByRole('alert').waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Edit' }).click();
    await document.fill((await document.inputValue()).replace('9s', '10s'));
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByLabel('Stored document').getByText('idleTimeout: 10s').waitFor();
    await rowOf(page, 'east').filter({ hasText: 'has it' }).first().waitFor();
    await page.close();
    // The browser itself reports the two refusals.
    expect(faults.filter((fault) => !/status of 4(?:00|09)/.test(fault)).join('\n')).toBe('');
  });

  it('shows each value in force on a proxy with the policy that set it', async () => {
    const networking = { address: '192.0.2.1', inbound: [{ name: 'http', port: 80, protocol: 'http' }] };
    expect(await east.put('/meshes/shop/dataplanes/cart', { type: 'Dataplane', mesh: 'shop', name: 'cart', networking })).toBe(
      201,
    );
    const opened = await openPage('proxies/shop/cart', east);
    const { page } = opened;
    const row = page.getByRole('region', { name: 'Inbound http' }).getByRole('row').filter({ hasText: 'connectionTimeout' });
    await row.getByText('10s').waitFor();
    expect(await seriousFaults(page)).toEqual([]);
    await row.getByRole('link', { name: 'mesh-timeout-all-shop' }).click();
    await page.getByLabel('Stored document').getByText('connectionTimeout: 10s').waitFor();
    expect(page.url()).toContain('/gui/resources/meshtimeouts/shop/mesh-timeout-all-shop');
    await close(opened);
  });

  it('shows what a document would change that is not stored, and that is what then happens', async () => {
    const tried = {
      ...{ type: 'MeshTimeout', mesh: 'shop', name: 'tried' },
      spec: { targetRef: { kind: 'Dataplane' }, rules: [{ default: { connectionTimeout: '4s' } }] },
    };
    const opened = await openPage('preview');
    const { page } = opened;
    // JSON is YAML too.
    await page.getByLabel('Documents as YAML').fill(JSON.stringify(tried));
    const show = page.getByRole('button', { name: 'Show what would change' });
    await vi.waitFor(async () => {
      await show.click();
      // The Dataplane of the zone may be on its way.
      await page.getByRole('heading', { name: '1 proxy would change' }).waitFor({ timeout: 1_000 });
    });
    for (const zone of ['east', 'west']) await rowOf(page, zone).filter({ hasText: 'yes' }).waitFor();
    const value = rowOf(page, 'MeshTimeout connectionTimeout');
    await value.filter({ hasText: '10s mesh-timeout-all-shop' }).filter({ hasText: '4s tried' }).waitFor();
    expect(await seriousFaults(page)).toEqual([]);
    expect(await fleet.global.put('/meshes/shop/meshtimeouts/tried', tried)).toBe(201);
    await show.click();
    await page.getByRole('heading', { name: '0 proxies would change' }).waitFor();
    await close(opened);
    const inZone = await openPage('proxies/shop/cart', east);
    await rowOf(inZone.page, 'connectionTimeout').filter({ hasText: '4s' }).filter({ hasText: 'tried' }).waitFor();
    await close(inZone);
  });

  it('shows what a deletion would change, in What if and before a removal', async () => {
    const kept = { ...timeout('3s'), name: 'kept' };
    expect(await fleet.global.put('/meshes/shop/meshtimeouts/kept', kept)).toBe(201);
    const opened = await openPage('preview');
    const { page } = opened;
    await page.getByLabel('Documents as YAML').fill(stringify({ ...timeout('4s'), name: 'instead' }));
    const form = page.getByRole('region', { name: 'Deletions' });
    await form.getByLabel('Type').selectOption('MeshTimeout');
    await form.getByLabel('Mesh').selectOption('shop');
    await form.getByLabel('Name').fill('kept');
    await form.getByRole('button', { name: 'Add a deletion' }).click();
    await form.getByLabel('Name').fill('tried');
    await page.keyboard.press('Enter');
    await form.getByRole('button', { name: 'Keep MeshTimeout shop/kept' }).click();
    expect(new URL(page.url()).searchParams.get('delete')).toBe('MeshTimeout/shop/tried');
    await page.getByRole('button', { name: 'Show what would change' }).click();
    await page.getByRole('region', { name: 'MeshTimeout shop/instead' }).getByText('would be created').waitFor();
    const gone = page.getByRole('region', { name: 'MeshTimeout shop/tried' });
    await gone.getByText('would be deleted').waitFor();
    await gone.getByRole('columnheader', { name: 'Would lose it' }).waitFor();
    for (const zone of ['east', 'west']) await rowOf(page, zone).filter({ hasText: 'yes' }).first().waitFor();
    const value = rowOf(page, 'MeshTimeout connectionTimeout');
    await value.filter({ hasText: '4s tried' }).filter({ hasText: '10s mesh-timeout-all-shop' }).waitFor();
    expect(await seriousFaults(page)).toEqual([]);
    await close(opened);
    const resource = await openPage('resources/meshtimeouts/shop/tried');
    await resource.page.getByRole('button', { name: 'Edit' }).click();
    await resource.page.getByRole('button', { name: 'Remove this resource' }).click();
    await resource.page.getByRole('heading', { name: '1 proxy would change' }).waitFor();
    await resource.page.getByRole('columnheader', { name: 'Would lose it' }).waitFor();
    await rowOf(resource.page, 'MeshTimeout connectionTimeout').filter({ hasText: '4s tried' }).waitFor();
    expect(await seriousFaults(resource.page)).toEqual([]);
    await resource.page.getByRole('button', { name: 'Remove', exact: true }).click();
    await resource.page.waitForURL('**/gui/resources/meshtimeouts');
    await close(resource);
    const inZone = await openPage('proxies/shop/cart', east);
    await rowOf(inZone.page, 'connectionTimeout')
      .filter({ hasText: '10s' })
      .filter({ hasText: 'mesh-timeout-all-shop' })
      .waitFor();
    await close(inZone);
  });

  it('shows how many zones each replica has', async () => {
    const opened = await openPage('health');
    const replicas = opened.page.getByRole('region', { name: 'Replicas' });
    await replicas.getByRole('columnheader', { name: 'Zones' }).waitFor();
    await replicas.getByRole('row').filter({ hasText: 'leads' }).getByRole('cell', { name: '2', exact: true }).waitFor();
    await close(opened);
  });

  it('is usable with the keyboard alone', async () => {
    const opened = await openPage();
    const { page } = opened;
    await rowOf(page, 'east').waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').fill('seen');
    await page.getByRole('option', { name: /seen/ }).first().waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'seen' }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Fleet' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('combobox').waitFor({ state: 'detached' });
    await tabTo(page, 'east');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'east' }).waitFor();
    await close(opened);
  });

  it.each(['light', 'dark'] as const)('has no serious fault of accessibility, %s', async (colorScheme) => {
    const places = [
      '',
      'changes',
      'zones/east',
      'resources',
      'resources/meshtimeouts',
      'resources/meshtimeouts/shop/seen',
      'proxies',
      'health',
    ];
    const opened = await openPage();
    const { page } = opened;
    await page.emulateMedia({ colorScheme });
    for (const path of places) {
      await page.goto(addressOf(fleet.global, path));
      await page
        .getByRole('row')
        .or(page.getByRole('link', { name: 'Mesh Timeouts' }))
        .first()
        .waitFor();
      expect([path, await seriousFaults(page)]).toEqual([path, []]);
    }
    await page.keyboard.press('Control+k');
    await page.getByRole('option').first().waitFor();
    expect(await seriousFaults(page)).toEqual([]);
    await close(opened);
  });

  it('names the resource that a zone refuses, and the reason', async () => {
    // Global refuses it too, but not what SQL writes.
    const bad = { networking: { address: '0.0.0.0', inbound: [{ port: 80 }] } };
    const insert = `insert into resources (name, mesh, type, version, spec) values ('bad', 'shop', 'Dataplane', 0, $1)`;
    await west.psql.query(insert, [JSON.stringify(bad)]);
    const opened = await openPage('zones/west');
    const refused = opened.page.getByRole('region', { name: 'Refused and withheld' });
    await refused.getByText('Dataplane refused').waitFor();
    await refused.getByText(/^bad-/).waitFor();
    await refused.getByText(/networking\.address/).waitFor();
    await west.psql.query(`delete from resources where name = 'bad' and type = 'Dataplane'`);
    await refused.waitFor({ state: 'detached' });
    await close(opened);
  });

  it('says that a zone is away, and why', async () => {
    const opened = await openPage();
    const { page } = opened;
    await rowOf(page, 'west').filter({ hasText: 'online' }).waitFor();
    await west.end('SIGKILL');
    await rowOf(page, 'west').filter({ hasText: 'offline' }).waitFor();
    await page.getByRole('img', { name: '2 zones, 1 online, 1 offline' }).waitFor();
    await page.getByRole('region', { name: 'Problems' }).getByText('zone west is not connected since').waitFor();
    west.start();
    await rowOf(page, 'west').filter({ hasText: 'online' }).waitFor();
    await close(opened);
  });

  it('says that the control plane does not answer, and goes on when it does', async () => {
    const { page, faults } = await openPage();
    await rowOf(page, 'east').waitFor();
    await fleet.global.end('SIGKILL');
    await page.getByRole('status').getByText('does not answer').waitFor();
    await rowOf(page, 'east').waitFor();
    fleet.global.start();
    await page.getByRole('status').getByText('does not answer').waitFor({ state: 'detached' });
    await rowOf(page, 'east').filter({ hasText: 'online' }).waitFor();
    await page.close();
    // The browser itself reports each request without an answer, and a control plane that starts answers 503.
    expect(faults.filter((fault) => !/net::ERR_|status of 503/.test(fault)).join('\n')).toBe('');
  });
});
