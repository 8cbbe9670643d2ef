// A control plane with an embedded store is killed during writes: every acknowledged write survives the restart.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { globalEnv } from '../support/control-plane-env.ts';
import { ControlPlane, WAIT } from '../support/control-plane.ts';
import { freePort } from '../support/free-port.ts';
import { configOf } from '../support/postgres-database.ts';
import { sized } from '../support/test-size.ts';
import { putTimeout, writeSteadily } from './steady-writes.ts';

const ROUNDS = sized({ push: 1, full: 2 });
const WRITERS = 4;
const LEAST = 50;

describe('a control plane on an embedded store', () => {
  let folder: string;
  let global: ControlPlane;

  const ready = async (): Promise<void> => {
    await vi.waitFor(async () => {
      global.assertRunning();
      expect(await global.ready()).toBe(200);
    }, WAIT);
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'meridian-embedded-'));
    // The PostgreSQL that is named is not the one that is used.
    global = new ControlPlane('global', configOf(inject('postgresUrl'), 'none'), await freePort(), {
      ...globalEnv(await freePort()),
      MERIDIAN_DIAGNOSTICS_SERVER_PORT: String(await freePort()),
      MERIDIAN_STORE_TYPE: 'embedded',
      MERIDIAN_STORE_EMBEDDED_PATH: join(folder, 'pg'),
    });
    global.isQuiet = true;
    global.start();
    await ready();
  });

  afterAll(async () => {
    await global.end('SIGTERM');
    await rm(folder, { recursive: true });
  });

  async function names(): Promise<Set<string>> {
    const found = new Set<string>();
    for (let next: string | null = '/meshes/default/meshtimeouts?size=1000'; next !== null;) {
      const response = await fetch(new URL(next, `http://127.0.0.1:${String(global.api)}`));
      const page = (await response.json()) as { items: { name: string }[]; next: string | null };
      for (const { name } of page.items) found.add(name);
      ({ next } = page);
    }
    return found;
  }

  it('has its acknowledged writes after kill -9, and accepts writes again (engine 24)', async () => {
    const promised: string[] = [];
    for (let round = 1; round <= ROUNDS; round += 1) {
      const writers = Array.from({ length: WRITERS }, (_, n) =>
        writeSteadily(`round-${String(round)}-${String(n)}`, (name, seconds) => putTimeout(global, name, seconds)),
      );
      try {
        for (const writer of writers) await expect.poll(() => writer.accepted(), WAIT).toBeGreaterThan(LEAST);
      } finally {
        await global.end('SIGKILL');
        for (const writer of writers) promised.push(...(await writer.stop()).accepted);
      }
      global.start();
      await ready();
      const found = await names();
      expect(promised.filter((name) => !found.has(name))).toEqual([]);
    }
    expect(await putTimeout(global, 'after-all', 1)).toBe(201);
  });
});
