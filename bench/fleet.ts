// A server under measurement and its fake zones: the real global on PostgreSQL, or the floor, spoken to in the same way.
import { setTimeout as delay } from 'node:timers/promises';
import type { PostgresConfig } from '../src/store/database.ts';
import { answerOf, endChild, startScript } from './children.ts';
import type { Say } from './context.ts';
import { startGlobal, type ControlPlane } from './control-plane.ts';
import { FakeZones } from './fake-zones.ts';
import type { FloorCommand, FloorReport } from './floor-server.ts';
import { HttpClient } from './http-client.ts';
import { cpuSeconds, memoryMb, nowMs, repeat, spend, untilSeen, type Counts, type Repeated } from './measure.ts';
import { policyBody, policyPath } from './policies.ts';
import type { Postgres } from './postgres.ts';
import { HAS_DEFAULTS, RowWatch } from './row-watch.ts';

export type FleetSize = { readonly zones: number; readonly resources: number; readonly zonesPerProcess: number };
type Subject = Pick<ControlPlane, 'pid' | 'kdsAddress' | 'apiPort' | 'stop'>;

export type Joined = { readonly seconds: number; readonly cpuSeconds: number; readonly failures: number };
export type Idle = { readonly cpuPercent: number; readonly memoryMb: number };

/** Time for the work that the join leaves, before the fleet counts as idle. */
const SETTLE_MS = 2_000;
/** Milliseconds between two lines about a long step. */
const LINE_MS = 10_000;

export class Fleet {
  readonly size: FleetSize;
  readonly pid: number;
  readonly #zones: FakeZones;
  readonly #subject: Subject;
  readonly #http: HttpClient;
  /** MeshTimeouts that every zone has received when all is quiet. */
  #expected: number;
  #revision = 0;

  private constructor(size: FleetSize, subject: Subject, zones: FakeZones) {
    this.size = size;
    this.pid = subject.pid;
    this.#zones = zones;
    this.#subject = subject;
    this.#http = new HttpClient(subject.apiPort);
    this.#expected = size.resources;
  }

  /** @param env more of the configuration of the global */
  static async meridian(postgres: Postgres, size: FleetSize, env: Record<string, string> = {}): Promise<Fleet> {
    return await Fleet.#start(size, await startSeededGlobal(postgres, size.resources, env));
  }

  static async floor(size: FleetSize): Promise<Fleet> {
    const child = startScript('floor-server.ts');
    const found = await answerOf<FloorReport>(child, { policies: size.resources } satisfies FloorCommand);
    return await Fleet.#start(size, { pid: child.pid ?? 0, ...found, stop: () => endChild(child) });
  }

  static async #start(size: FleetSize, subject: Subject): Promise<Fleet> {
    return new Fleet(size, subject, await FakeZones.start(size.zones, size.zonesPerProcess));
  }

  get kdsAddress(): string {
    return this.#subject.kdsAddress;
  }

  /** Lets all zones join, until the last of them has everything. @param say gets a line about the progress from time to time */
  async join(say: Say = () => undefined): Promise<Joined> {
    const zones = this.#zones;
    const progress = (): string =>
      `  ${String(zones.sum('complete'))} of ${String(this.size.zones)} zones hold all, ${String(zones.sum('failures'))} failed connections`;
    const began = nowMs();
    const { result: at, cpuSeconds: cpu } = await spend(this.pid, () => {
      zones.join([this.#subject.kdsAddress], { all: this.#expected });
      return sayWhile(zones.received(this.#expected), say, progress);
    });
    return { seconds: (at - began) / 1000, cpuSeconds: cpu, failures: zones.sum('failures') };
  }

  /** After the join, when nothing changes, with all zones connected. */
  async idle(seconds: number): Promise<Idle> {
    await delay(SETTLE_MS);
    const spent = await spend(this.pid, () => delay(seconds * 1000));
    return { cpuPercent: (spent.cpuSeconds / spent.seconds) * 100, memoryMb: memoryMb(this.pid) };
  }

  /** One policy by REST after the other, each until the last zone has it. */
  async changes(counts: Counts): Promise<Repeated> {
    const cpu = (): number => cpuSeconds(this.pid);
    return await repeat(cpu, counts, () => this.change());
  }

  /**
   * Changes policies by REST, all at once.
   * @returns milliseconds from before the first PUT until the last change was in the last zone
   */
  async change(count = 1): Promise<number> {
    this.#expected += count;
    const bodies = Array.from({ length: count }, () => {
      const revision = ++this.#revision;
      const index = revision % this.size.resources;
      return { path: policyPath(index), body: policyBody(index, revision) };
    });
    const write = (): Promise<unknown> => Promise.all(bodies.map(({ path, body }) => this.#http.put(path, body)));
    return await untilSeen(this.#zones.received(this.#expected), write);
  }

  async stop(): Promise<void> {
    this.#http.close();
    await this.#zones.end();
    await this.#subject.stop();
  }
}

/** A global with that many MeshTimeouts that has written its own defaults too. */
export async function startSeededGlobal(
  postgres: Postgres,
  resources: number,
  env: Record<string, string> = {},
): Promise<Subject & { database: PostgresConfig }> {
  const database = await postgres.createDatabase(resources);
  const global = await startGlobal(database, env);
  await RowWatch.see(database, HAS_DEFAULTS);
  const stopAndDrop = async (): Promise<void> => {
    await global.stop();
    await postgres.dropDatabase(database);
  };
  return { ...global, database, stop: stopAndDrop };
}

/** Settles as the task does. @param progress makes a line */
export async function sayWhile<T>(task: Promise<T>, say: Say, progress: () => string): Promise<T> {
  const timer = setInterval(() => say(progress()), LINE_MS);
  return await task.finally(() => clearInterval(timer));
}
