// A Meridian global starts with the configuration of a real Kuma global. `kuma-config.json` is a recorded one, for tests without the program.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, inject, it, onTestFinished } from 'vitest';
import { isObject } from '../../src/resource/read-json.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { ControlPlane } from '../support/control-plane.ts';
import { globalEnv } from '../support/control-plane-env.ts';
import { freePort } from '../support/free-port.ts';
import { cloneDatabase } from '../support/postgres-database.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { startGlobal, stopPlane, untilReady } from './mixed-fleet.ts';
import { read } from './rest.ts';

const postgresUrl = inject('postgresUrl');
let answer: JsonObject;

beforeAll(async () => {
  const kuma = await startGlobal('kuma', postgresUrl, await freePort());
  await untilReady(kuma);
  answer = await read(kuma, '/config');
  await stopPlane(kuma);
});

it('a Meridian global starts with the configuration that GET /config of a Kuma global answers', async () => {
  const file = join(temporaryFolder(), 'kuma.json');
  writeFileSync(file, JSON.stringify(answer));
  const ours = new ControlPlane('global', await cloneDatabase(postgresUrl), await freePort(), {
    ...globalEnv(await freePort()),
    MERIDIAN_DIAGNOSTICS_SERVER_PORT: String(await freePort()),
    MERIDIAN_CONFIG: file,
  });
  ours.isQuiet = true;
  await ours.psql.connect();
  ours.start();
  onTestFinished(() => stopPlane(ours));
  await untilReady(ours);
  const { metrics } = await read(ours, '/config');
  expect(metrics).toMatchObject({ zone: { subscriptionLimit: 10 } });
});

it('kuma-config.json has every key of the configuration of a Kuma global', () => {
  const recorded = JSON.parse(readFileSync(join(import.meta.dirname, 'kuma-config.json'), 'utf8')) as JsonObject;
  expect(pathsOf(recorded)).toEqual(pathsOf(answer));
});

/** The dotted paths of all values, sorted. */
function pathsOf(section: JsonObject, above = ''): string[] {
  return Object.entries(section)
    .flatMap(([key, value]) => (isObject(value) ? pathsOf(value, `${above}${key}.`) : [`${above}${key}`]))
    .toSorted();
}
