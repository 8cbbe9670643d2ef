// Two Kuma zones with one name under a Meridian global. They have no store id: each ends the stream of the other, and the overview shows
// it.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, inject, it, vi } from 'vitest';
import { MERIDIAN, type ControlPlane } from '../support/control-plane.ts';
import { freePort } from '../support/free-port.ts';
import { isOnline, LONG_WAIT, startGlobal, startZone, stopPlane, untilReady } from './mixed-fleet.ts';

const run = promisify(execFile);
const ZONE = 'twin';
const WARNING = 'control planes take zone twin from each other';
/** A Kuma zone that lost its stream comes back after some seconds; three turns make a conflict. */
const TURNS = { timeout: 120_000, interval: 500 };

let global: ControlPlane;
let kds: number;
const zones: ControlPlane[] = [];

beforeAll(async () => {
  kds = await freePort();
  global = await startGlobal('meridian', inject('postgresUrl'), kds);
  await untilReady(global);
  await startTwin();
});

afterAll(() => Promise.all([global, ...zones].map(stopPlane)));

it('two control planes of one zone are shown as a conflict by inspect zones and the metric, one is not', async () => {
  await vi.waitFor(async () => expect(await isOnline(global, ZONE)).toBe(true), LONG_WAIT);
  expect(await inspectZones()).not.toContain(WARNING);
  expect(await metric()).toEqual([]);
  await startTwin();
  await vi.waitFor(async () => {
    expect(await inspectZones()).toContain(WARNING);
    expect(await metric()).toEqual([expect.stringMatching(/zone_name="twin".* 1$/)]);
  }, TURNS);
}, 240_000);

async function startTwin(): Promise<void> {
  const twin = await startZone('kuma', inject('postgresUrl'), ZONE, `127.0.0.1:${String(kds)}`);
  zones.push(twin);
  await untilReady(twin);
}

async function inspectZones(): Promise<string> {
  const env = { ...process.env, MERIDIAN_ADDRESS: `http://127.0.0.1:${String(global.api)}` };
  return (await run(MERIDIAN, ['inspect', 'zones'], { env })).stdout;
}

/** The lines of the metric of conflicts. */
async function metric(): Promise<string[]> {
  const response = await fetch(`http://127.0.0.1:${global.env['MERIDIAN_DIAGNOSTICS_SERVER_PORT'] ?? ''}/metrics`);
  return (await response.text()).split('\n').filter((line) => line.startsWith('meridian_zone_store_conflict{'));
}
