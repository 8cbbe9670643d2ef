// The control planes of a soak: replicas of one global, zones behind a balancer, one PostgreSQL. Each may be killed, and starts again. A
// process that ends without having been killed fails the run.
import { once } from 'node:events';
import type { PostgresConfig } from '../../src/store/database.ts';
import { startGlobal, startZone, type ControlPlane } from '../../bench/control-plane.ts';
import { replicaEnv } from '../../bench/large-fleet-sizes.ts';
import type { Postgres } from '../../bench/postgres.ts';
import { HAS_DEFAULTS, RowWatch } from '../../bench/row-watch.ts';
import { startBalancer, type Balancer } from './balancer.ts';
import type { ProcessSample, Sample } from './judge.ts';
import { sampleProcess } from './sampler.ts';
import type { SoakSizes } from './sizes.ts';

/** Connections of a zone to PostgreSQL. */
const ZONE_ENV = { MERIDIAN_STORE_POSTGRES_MAX_OPEN_CONNECTIONS: '10' };

export type Member = {
  readonly name: string;
  readonly role: 'global' | 'zone';
  readonly database: PostgresConfig;
  readonly start: () => Promise<ControlPlane>;
  /** How many processes were before this one. */
  life: number;
  /** Null while it is away. */
  running: ControlPlane | null;
};

export class SoakFleet {
  readonly replicas: readonly Member[];
  readonly zones: readonly Member[];
  readonly #balancer: Balancer;
  readonly #onEnded: (error: Error) => void;
  readonly #onReplicas: (addresses: readonly string[]) => void;

  private constructor(
    members: { readonly replicas: readonly Member[]; readonly zones: readonly Member[]; readonly balancer: Balancer },
    { onEnded, onReplicas }: FleetEvents,
  ) {
    this.replicas = members.replicas;
    this.zones = members.zones;
    this.#balancer = members.balancer;
    this.#onEnded = onEnded;
    this.#onReplicas = onReplicas;
  }

  static async start(postgres: Postgres, sizes: SoakSizes, events: FleetEvents): Promise<SoakFleet> {
    // Without policies: those that are written by REST have the form in which zones store them.
    const database = await postgres.createDatabase(0);
    const env = replicaEnv(sizes.zones + sizes.realZones);
    const replicas = numbered(sizes.replicas).map((number) =>
      memberOf(`replica-${String(number)}`, 'global', database, () => startGlobal(database, env)),
    );
    const balancer = await startBalancer(() => addressesOf(replicas).map((address) => Number(address.split(':')[1])));
    const zones: Member[] = [];
    for (const number of numbered(sizes.realZones)) {
      const [name, own] = [`zone-${String(number)}`, await postgres.createEmptyDatabase()];
      zones.push(memberOf(name, 'zone', own, () => startZone(name, balancer.address, own, ZONE_ENV)));
    }
    const fleet = new SoakFleet({ replicas, zones, balancer }, events);
    try {
      for (const member of fleet.members) {
        await fleet.#startOf(member);
        if (member === replicas[0]) await RowWatch.see(database, HAS_DEFAULTS);
      }
    } catch (error) {
      await balancer.close();
      throw error;
    }
    return fleet;
  }

  get members(): readonly Member[] {
    return [...this.replicas, ...this.zones];
  }

  /** The replica of that number, or another while it is away. */
  replica(number: number): ControlPlane | null {
    const living = this.replicas.flatMap(({ running }) => (running === null ? [] : [running]));
    return this.replicas[number]?.running ?? living[0] ?? null;
  }

  /** Kills the process, and starts another when `away` resolves. */
  async restart(member: Member, away: () => Promise<void>): Promise<void> {
    const { running } = member;
    if (running === null) return;
    member.running = null;
    this.#tellReplicas();
    const exit = once(running.child, 'exit');
    process.kill(running.pid, 'SIGKILL');
    await exit;
    await away();
    member.life += 1;
    await this.#startOf(member);
  }

  /** @param began milliseconds of `performance.now` at the start of the run */
  async sample(began: number): Promise<Sample> {
    const at = (performance.now() - began) / 1_000;
    const found = await Promise.all(
      this.members.map(async ({ name, role, life, running }): Promise<ProcessSample | null> => {
        if (running === null) return null;
        return await sampleProcess({ name, role, life, pid: running.pid, diagnosticsPort: running.diagnosticsPort });
      }),
    );
    return { at, processes: found.filter((one) => one !== null) };
  }

  /** Ends all processes in order. @returns those that did not end with exit code 0 */
  async stop(): Promise<string[]> {
    const failed = await Promise.all(
      this.members.toReversed().map(async (member) => {
        const { running, name } = member;
        if (running === null) return [];
        member.running = null;
        await running.stop();
        return running.child.exitCode === 0 ? [] : [name];
      }),
    );
    await this.#balancer.close();
    return failed.flat();
  }

  async #startOf(member: Member): Promise<void> {
    const running = await member.start();
    member.running = running;
    const onExit = (): void => {
      if (member.running === running) this.#onEnded(new Error(`${member.name} ended by itself`));
    };
    if (running.child.exitCode !== null || running.child.signalCode !== null) onExit();
    else running.child.once('exit', onExit);
    this.#tellReplicas();
  }

  #tellReplicas(): void {
    this.#onReplicas(addressesOf(this.replicas));
  }
}

export type FleetEvents = {
  /** A process has ended by itself. */
  readonly onEnded: (error: Error) => void;
  /** Called with the addresses of the living replicas when they change. */
  readonly onReplicas: (addresses: readonly string[]) => void;
};

function memberOf(name: string, role: Member['role'], database: PostgresConfig, start: Member['start']): Member {
  return { name, role, database, start, life: 0, running: null };
}

function addressesOf(replicas: readonly Member[]): string[] {
  return replicas.flatMap(({ running }) => (running === null ? [] : [running.kdsAddress]));
}

function numbered(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}
