// Replicas of one global on one PostgreSQL, with zones that choose one as a load balancer does: join, idle, a change, a replica that is
// killed, one that comes, and all zones back at once.
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../src/base/errors.ts';
import type { PostgresConfig } from '../src/store/database.ts';
import type { Context, Say, Sections } from './context.ts';
import { startGlobal, type ControlPlane } from './control-plane.ts';
import { sayWhile } from './fleet.ts';
import { HttpClient } from './http-client.ts';
import { budgets, replicaEnv, type FleetSizes } from './large-fleet-sizes.ts';
import { cpuSeconds, memoryMb, nowMs, repeat, untilSeen } from './measure.ts';
import { metricsOf, type Budget, type Metric } from './metric.ts';
import { policyBody, policyPath } from './policies.ts';
import { databaseCpuSeconds, withDatabase } from './postgres.ts';
import { FakeZones } from './fake-zones.ts';
import { HAS_DEFAULTS, RowWatch } from './row-watch.ts';

/** Time for the work that a join leaves. */
const SETTLE_MS = 15_000;
/** Within these parts of its share a replica counts as filled, and how long that may take. */
const FILL_MS = 180_000;
const FILLED = { least: 0.8, most: 1.2 };

export const manyReplicas: Sections<FleetSizes> = {
  names: { replicas: 'very many zones on several replicas and one PostgreSQL' },
  measure: measureReplicas,
};

type Spent = { readonly seconds: number; readonly cpuSeconds: number; readonly databaseSeconds: number };

class Replicas {
  readonly database: PostgresConfig;
  readonly zones: FakeZones;
  readonly settings: FleetSizes;
  readonly living: ControlPlane[] = [];
  #expected = 0;
  #revision = 0;

  constructor(database: PostgresConfig, zones: FakeZones, settings: FleetSizes) {
    this.database = database;
    this.zones = zones;
    this.settings = settings;
    this.#expected = settings.resources;
  }

  async start(): Promise<void> {
    this.living.push(await startGlobal(this.database, replicaEnv(this.settings.zones)));
  }

  get addresses(): string[] {
    return this.living.map(({ kdsAddress }) => kdsAddress);
  }

  /** Seconds until the task has ended, and the CPU of all replicas that run before and after it, and of PostgreSQL. */
  async spend(task: () => Promise<unknown>): Promise<Spent> {
    const before = { cpu: this.cpu(), database: await databaseCpuSeconds(this.database), at: nowMs() };
    await task();
    const seconds = (nowMs() - before.at) / 1000;
    const used = this.cpu() - before.cpu;
    return { seconds, cpuSeconds: used, databaseSeconds: (await databaseCpuSeconds(this.database)) - before.database };
  }

  /** Seconds of CPU of all replicas that live. */
  readonly cpu = (): number => this.living.reduce((sum, { pid }) => sum + cpuSeconds(pid), 0);

  /** The parts of its share that each replica has. */
  get shares(): number[] {
    const share = this.settings.zones / this.living.length;
    return this.addresses.map((address) => (this.zones.up[address] ?? 0) / share);
  }

  get progress(): string {
    const { up } = this.zones;
    const here = this.addresses.map((address) => up[address] ?? 0);
    return `  zones with everything by replica: ${here.join(', ')}; ${String(this.zones.sum('failures'))} failed connections since the start`;
  }

  /** As `spend`, until all zones are up. When they are not in time the run says so and goes on, without the seconds. */
  async spendUntilUp(begin: () => unknown, say: Say): Promise<Spent> {
    let isLate = false;
    const spent = await this.spend(async () => {
      await begin();
      const up = this.zones.until('all zones are connected and have everything', () => this.zones.areAllUp);
      await sayWhile(up, say, () => this.progress).catch((error: unknown) => {
        isLate = true;
        say(`${messageOf(error)}:${this.progress}`);
      });
    });
    return isLate ? { ...spent, seconds: NaN } : spent;
  }

  /** @returns milliseconds from before a PUT until the last zone has it */
  async change(api: HttpClient): Promise<number> {
    this.#expected += 1;
    const revision = ++this.#revision;
    const index = revision % this.settings.resources;
    return await untilSeen(this.zones.received(this.#expected), () => api.put(policyPath(index), policyBody(index, revision)));
  }
}

async function measureReplicas({ settings, postgres, say }: Context<FleetSizes>): Promise<Metric[]> {
  const server = await postgres();
  const database = await server.createDatabase(settings.resources);
  const zones = await FakeZones.start(settings.zones, settings.zonesPerProcess);
  const fleet = new Replicas(database, zones, settings);
  try {
    await fleet.start();
    await RowWatch.see(database, HAS_DEFAULTS);
    for (let count = 1; count < settings.replicas; count += 1) await fleet.start();
    const metrics: Metric[] = [];
    for (const step of [joinAll, watchIdle, changeAll, killOne, addOne, returnAll]) metrics.push(...(await step(fleet, say)));
    return [...metrics, metric('different stores of zones at the end', '', await zones.differentStores(), budgets.stores)];
  } finally {
    await zones.end();
    for (const one of fleet.living) await one.stop();
    await server.dropDatabase(database);
  }
}

async function joinAll(fleet: Replicas, say: Say): Promise<Metric[]> {
  say(`replicas: ${String(fleet.settings.zones)} zones join ${String(fleet.settings.replicas)} replicas`);
  const before = fleet.living.map(({ pid }) => memoryMb(pid));
  const spent = await fleet.spendUntilUp(
    () => fleet.zones.join(fleet.addresses, { all: fleet.settings.resources, remembers: true }),
    say,
  );
  await delay(SETTLE_MS);
  const memory = fleet.living.map(({ pid }) => memoryMb(pid));
  const added = memory.reduce((sum, mb, index) => sum + mb - (before[index] ?? 0), 0);
  return [
    ...spentOn('join', spent),
    metric('join: failed connections', '', fleet.zones.sum('failures')),
    metric('join: largest part of a share', '×', Math.max(...fleet.shares)),
    metric('memory of a zone on its replica', 'KB', (added * 1000) / fleet.settings.zones),
    metric('memory of the largest replica', 'MB', Math.max(...memory)),
  ];
}

async function watchIdle(fleet: Replicas, say: Say): Promise<Metric[]> {
  const { idleSeconds } = fleet.settings;
  say(`replicas: idle for ${String(idleSeconds)} s`);
  const before = await writtenRows(fleet.database);
  const { seconds, cpuSeconds: cpu, databaseSeconds } = await fleet.spend(() => delay(idleSeconds * 1000));
  return [
    metric('idle: CPU of all replicas', '%', (cpu / seconds) * 100),
    metric('idle: CPU of PostgreSQL', '%', (databaseSeconds / seconds) * 100),
    metric('idle: rows written a second', '', ((await writtenRows(fleet.database)) - before) / seconds, budgets.rowsASecond),
  ];
}

async function changeAll(fleet: Replicas, say: Say): Promise<Metric[]> {
  say(`replicas: ${String(fleet.settings.changes)} changes, one after the other`);
  const api = new HttpClient(fleet.living[0]?.apiPort ?? 0);
  const { p50Ms, p99Ms, cpuMs } = await repeat(fleet.cpu, fleet.settings, () => fleet.change(api));
  api.close();
  return [
    metric('change: PUT to the last zone, p50', 'ms', p50Ms),
    metric('change: PUT to the last zone, p99', 'ms', p99Ms, budgets.changeP99Ms),
    metric('change: CPU of all replicas', 'ms', cpuMs),
  ];
}

async function killOne(fleet: Replicas, say: Say): Promise<Metric[]> {
  if (fleet.living.length < 2) return [];
  say('replicas: one is killed');
  const again = fleet.zones.sum('again');
  const killed = fleet.living.pop();
  if (killed === undefined) return [];
  const spent = await fleet.spendUntilUp(async () => {
    fleet.zones.setAddresses(fleet.addresses);
    const exit = once(killed.child, 'exit');
    process.kill(killed.pid, 'SIGKILL');
    await exit;
  }, say);
  return [
    ...spentOn('kill', spent, budgets.killSeconds),
    metric('kill: resources sent again', '', fleet.zones.sum('again') - again, budgets.sentAgain),
    metric('kill: largest part of a share', '×', Math.max(...fleet.shares), budgets.largest),
  ];
}

async function addOne(fleet: Replicas, say: Say): Promise<Metric[]> {
  say('replicas: one starts, and is filled');
  const again = fleet.zones.sum('again');
  await fleet.start();
  fleet.zones.setAddresses(fleet.addresses);
  const isFilled = (): boolean => fleet.shares.every((part) => part >= FILLED.least && part <= FILLED.most);
  // The other steps do not need it: without it the run says so and goes on.
  const filled = fleet.zones.until('the new replica has its share', () => fleet.zones.areAllUp && isFilled(), FILL_MS);
  const seconds = await sayWhile(filled, say, () => fleet.progress)
    .then((ms) => ms / 1000)
    .catch((error: unknown) => {
      say(`${messageOf(error)}: parts of a share ${fleet.shares.map((part) => part.toFixed(2)).join(', ')}`);
      return NaN;
    });
  return [
    metric('new replica: until each has 0.8 to 1.2 of its share', 's', seconds),
    metric('new replica: resources sent again', '', fleet.zones.sum('again') - again, budgets.sentAgain),
  ];
}

async function returnAll(fleet: Replicas, say: Say): Promise<Metric[]> {
  say('replicas: all zones lose their connection at once');
  const [again, failures] = [fleet.zones.sum('again'), fleet.zones.sum('failures')];
  const spent = await fleet.spendUntilUp(() => fleet.zones.dropAll(), say);
  const lost = fleet.zones.sum('failures') - failures - fleet.settings.zones;
  return [
    ...spentOn('all back', spent, budgets.backSeconds),
    metric('all back: further failed connections', '', lost),
    metric('all back: resources sent again', '', fleet.zones.sum('again') - again, budgets.sentAgain),
    metric('all back: largest part of a share', '×', Math.max(...fleet.shares), budgets.largest),
  ];
}

/** Rows of resources that were written since the start of the database. */
async function writtenRows(database: PostgresConfig): Promise<number> {
  return await withDatabase(database, async (client) => {
    const { rows } = await client.query<{ rows: string }>(
      `select n_tup_ins + n_tup_upd + n_tup_del as rows from pg_stat_user_tables where relname = 'resources'`,
    );
    return Number(rows[0]?.rows ?? 0);
  });
}

function metric(name: string, unit: string, meridian: number, budget?: Budget): Metric {
  return metricsOf('replicas')(name, unit, meridian, { budget });
}

function spentOn(what: string, { seconds, cpuSeconds: cpu, databaseSeconds }: Spent, budget?: Budget): Metric[] {
  return [
    metric(`${what}: all zones hold all`, 's', seconds, budget),
    metric(`${what}: CPU of all replicas`, 's', cpu),
    metric(`${what}: CPU of PostgreSQL`, 's', databaseSeconds),
  ];
}
