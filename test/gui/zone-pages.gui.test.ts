// The page of a zone control plane, with a global and alone: it shows what the zone knows, and breaks nowhere.
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { startFleet, type ControlPlane, type Fleet } from '../support/control-plane.ts';
import { seriousFaults } from './accessibility.ts';
import { openBrowser, type Browser } from './browser.ts';

let fleet: Fleet;
let browser: Browser;
let east: ControlPlane;

beforeAll(async () => {
  [fleet, browser] = await Promise.all([startFleet(inject('postgresUrl'), ['east']), openBrowser()]);
  [east] = fleet.zones as [ControlPlane];
  expect(await fleet.global.put('/meshes/shop', { type: 'Mesh', name: 'shop' })).toBe(201);
  const spec = { targetRef: { kind: 'Mesh' }, to: [{ targetRef: { kind: 'Mesh' }, default: { idleTimeout: '7s' } }] };
  expect(
    await fleet.global.put('/meshes/shop/meshtimeouts/seen', { type: 'MeshTimeout', mesh: 'shop', name: 'seen', spec }),
  ).toBe(201);
});

afterAll(async () => {
  await browser.close();
  await fleet.stop();
});

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
  expect(faults).toEqual([]);
});
