// The page of a zone control plane, with a global and alone: it shows what the zone knows, and breaks nowhere.
import { afterAll, beforeAll, expect, inject, it, vi } from 'vitest';
import { zoneEnv } from '../support/control-plane-env.ts';
import { ControlPlane, startFleet, WAIT, type Fleet } from '../support/control-plane.ts';
import { freePort } from '../support/free-port.ts';
import { cloneDatabase } from '../support/postgres-database.ts';
import { seriousFaults } from './accessibility.ts';
import { openBrowser, type Browser } from './browser.ts';

let fleet: Fleet;
let browser: Browser;
let east: ControlPlane;
/** A zone without a global. */
let alone: ControlPlane;

beforeAll(async () => {
  const url = inject('postgresUrl');
  [fleet, browser, alone] = await Promise.all([startFleet(url, ['east']), openBrowser(), startAlone(url)]);
  [east] = fleet.zones as [ControlPlane];
  expect(await fleet.global.put('/meshes/shop', { type: 'Mesh', name: 'shop' })).toBe(201);
  const spec = { targetRef: { kind: 'Mesh' }, to: [{ targetRef: { kind: 'Mesh' }, default: { idleTimeout: '7s' } }] };
  expect(
    await fleet.global.put('/meshes/shop/meshtimeouts/seen', { type: 'MeshTimeout', mesh: 'shop', name: 'seen', spec }),
  ).toBe(201);
});

afterAll(async () => {
  await browser.close();
  await alone.end('SIGTERM');
  await fleet.stop();
});

async function startAlone(postgresUrl: string): Promise<ControlPlane> {
  const { MERIDIAN_MULTIZONE_ZONE_GLOBAL_ADDRESS: _, ...env } = zoneEnv('alone', '');
  const zone = new ControlPlane('zone', await cloneDatabase(postgresUrl), await freePort(), {
    ...env,
    MERIDIAN_DIAGNOSTICS_SERVER_PORT: String(await freePort()),
  });
  zone.start();
  await vi.waitFor(async () => {
    zone.assertRunning();
    expect(await zone.ready()).toBe(200);
  }, WAIT);
  return zone;
}

/** Place → what a person sees there. */
const PLACES: readonly (readonly [path: string, text: string])[] = [
  ['?sort=name', 'Zone east and its global'],
  ['zones/east', 'Stream from global to the zone'],
  ['changes', 'Changes'],
  ['resources', 'Mesh Timeouts'],
  ['resources?view=zones', 'MeshMetric'],
  ['resources/meshtimeouts', 'seen'],
  ['resources/meshtimeouts/shop', 'other zones'],
  ['proxies', 'Proxies'],
  ['preview', 'Nothing is stored.'],
  ['health', 'Replicas of this control plane'],
];

it.each(PLACES)('a zone with a global shows %s', async (path, text) => {
  const { page, faults } = await browser.open(`http://127.0.0.1:${String(east.api)}/gui/${path}`);
  await page.getByText(text).first().waitFor();
  expect(await seriousFaults(page)).toEqual([]);
  await page.close();
  expect(faults.join('\n')).toBe('');
});

it('a resource of a zone has no link to the other zones, which have no page there', async () => {
  const own = { type: 'MeshService', mesh: 'shop', name: 'own', labels: { 'kuma.io/origin': 'zone' }, spec: {} };
  expect(await east.put('/meshes/shop/meshservices/own', own)).toBe(201);
  const { page, faults } = await browser.open(`http://127.0.0.1:${String(east.api)}/gui/resources/meshservices/shop/own`);
  const zones = page.getByRole('table', { name: 'Zones of the resource' });
  await zones.getByText('other zones').waitFor();
  expect(await zones.getByRole('link').count()).toBe(0);
  await page.close();
  expect(faults.join('\n')).toBe('');
});

/** The same of a zone without a global. */
const PLACES_ALONE: readonly (readonly [path: string, text: string])[] = [
  ['', 'alone'],
  ['zones/alone', 'none has connected'],
  ['changes', 'This zone has no global'],
  ['resources', 'Mesh Timeouts'],
  ['resources?view=zones', 'synced types'],
  ['proxies', 'Proxies'],
  ['preview', 'Nothing is stored.'],
  ['health', 'Replicas of this control plane'],
];

it.each(PLACES_ALONE)('a zone without a global shows %s', async (path, text) => {
  const { page, faults } = await browser.open(`http://127.0.0.1:${String(alone.api)}/gui/${path}`);
  await page.getByText(text).first().waitFor();
  expect(await seriousFaults(page)).toEqual([]);
  await page.close();
  expect(faults.join('\n')).toBe('');
});

it('shows how far a zone was behind since the page was opened', async () => {
  const lag = { items: [{ name: 'east', lagMs: 2_500 }] };
  const events = [
    'event: resync\nid: a.0\ndata: {"reason":"started","instanceId":"cp-1"}\n\n',
    `event: lag\nid: a.1\ndata: ${JSON.stringify(lag)}\n\n`,
  ];
  const { page, faults } = await browser.open(`http://127.0.0.1:${String(fleet.global.api)}/gui/zones/east`, async (opened) => {
    await opened.route('**/_events*', (route) => route.fulfill({ contentType: 'text/event-stream', body: events.join('') }));
  });
  const card = page.getByRole('region', { name: 'Lag' });
  await card.getByText('at most 2.5 s').waitFor();
  await card.getByRole('img', { name: 'At most 2.5 s behind' }).waitFor();
  expect(await seriousFaults(page)).toEqual([]);
  await page.close();
  expect(faults.join('\n')).toBe('');
});
