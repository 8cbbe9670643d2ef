// A control plane that is asked to stop at any moment of its start: it ends, closes its ports, and nothing keeps its process alive.
import { connect } from 'node:net';
import { describe, expect, inject, it } from 'vitest';
import { systemClock, type Clock } from '../../src/base/clock.ts';
import { loadConfig } from '../../src/base/config.ts';
import { createLogger } from '../../src/base/log.ts';
import { run as runGlobal } from '../../src/global/run.ts';
import { run as runZone } from '../../src/zone/run.ts';
import { controlPlaneEnv, globalEnv } from '../support/control-plane-env.ts';
import { freePort } from '../support/free-port.ts';
import { cloneDatabase } from '../support/postgres-database.ts';
import { sized } from '../support/test-size.ts';

const RUNS = { global: runGlobal, zone: runZone };
/** How many moments of a start: each is a number of uses of the clock before the stop. A start has about 20. */
const MOMENTS = sized({ push: 8, full: 24 });
/** The last of them. */
const LAST = 23;

/** The clock of the system. It calls `onUse` at each use, and knows how many sleeps keep the process alive. */
class WatchedClock implements Clock {
  sleeping = 0;
  readonly #onUse: () => void;

  constructor(onUse: () => void) {
    this.#onUse = onUse;
  }

  now(): Date {
    this.#onUse();
    return systemClock.now();
  }

  elapsed(): number {
    this.#onUse();
    return systemClock.elapsed();
  }

  async sleep(...[ms, signal, options]: Parameters<Clock['sleep']>): Promise<void> {
    this.#onUse();
    const keepsAlive = options?.ref !== false;
    if (keepsAlive) this.sleeping += 1;
    await systemClock.sleep(ms, signal, options);
    if (keepsAlive) this.sleeping -= 1;
  }

  after(ms: number, task: () => void): () => void {
    this.#onUse();
    return systemClock.after(ms, task);
  }
}

async function isOpen(port: number): Promise<boolean> {
  return await new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

describe.each(['global', 'zone'] as const)('a %s', (mode) => {
  it('stops at any moment of its start', async () => {
    const database = await cloneDatabase(inject('postgresUrl'));
    const ports = [await freePort(), await freePort(), await freePort(), await freePort()] as const;
    const [api, diagnostics, kds, proxies] = ports;
    const env = {
      ...controlPlaneEnv(database, api),
      ...(mode === 'global' ? globalEnv(kds) : { MERIDIAN_DP_SERVER_PORT: String(proxies) }),
      MERIDIAN_DIAGNOSTICS_SERVER_PORT: String(diagnostics),
    };
    const { config } = loadConfig({ mode, env, flags: {}, file: undefined });
    for (let turn = 0; turn < MOMENTS; turn += 1) {
      const moment = Math.round((turn * LAST) / (MOMENTS - 1));
      const stop = new AbortController();
      let uses = 0;
      const clock = new WatchedClock(() => {
        if ((uses += 1) > moment) stop.abort();
      });
      // A control plane that is up may not use its clock for a long time.
      const log = createLogger('info', {}, { write: (line) => void (line.includes(' is up"') && stop.abort()) });
      await RUNS[mode](config, { clock, log, signal: stop.signal });
      expect(clock.sleeping, `sleeps after a stop at use ${String(moment)}`).toBe(0);
      for (const port of ports)
        expect(await isOpen(port), `port ${String(port)} after a stop at use ${String(moment)}`).toBe(false);
    }
  });
});
