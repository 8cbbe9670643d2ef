// A server under measurement and its fake zones: the real global on PostgreSQL, or the floor, spoken to in the same way.
import { endChild, nextMessage, startScript } from './children.ts';
import { startGlobal } from './control-plane.ts';
import { FakeZones } from './fake-zones.ts';
import type { FloorCommand, FloorReport } from './floor-server.ts';
import { HttpClient } from './http-client.ts';
import { memoryMb, nowMs } from './measure.ts';
import { policyBody, policyPath } from './policies.ts';
import type { Postgres } from './postgres.ts';
import type { PostgresConfig } from '../src/store/database.ts';
import { RowWatch } from './row-watch.ts';

export type FleetSize = { readonly zones: number; readonly resources: number; readonly zonesPerProcess: number };

type Subject = {
  readonly pid: number;
  readonly kdsAddress: string;
  readonly apiPort: number;
  readonly stop: () => Promise<void>;
};

export class Fleet {
  readonly size: FleetSize;
  readonly zones: FakeZones;
  readonly pid: number;
  /** Memory of the ready server before the first zone joined. */
  readonly memoryBeforeMb: number;
  readonly #subject: Subject;
  readonly #http: HttpClient;
  /** MeshTimeouts that every zone has received when all is quiet. */
  #expected: number;
  #revision = 0;

  private constructor(size: FleetSize, subject: Subject, zones: FakeZones) {
    this.size = size;
    this.zones = zones;
    this.pid = subject.pid;
    this.memoryBeforeMb = memoryMb(subject.pid);
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
    child.send({ policies: size.resources } satisfies FloorCommand);
    const { kdsAddress, apiPort } = await nextMessage<FloorReport>(child);
    return await Fleet.#start(size, { pid: child.pid ?? 0, kdsAddress, apiPort, stop: () => endChild(child) });
  }

  static async #start(size: FleetSize, subject: Subject): Promise<Fleet> {
    return new Fleet(size, subject, await FakeZones.start(size.zones, size.zonesPerProcess));
  }

  /** Lets all zones join. @returns milliseconds until the last of them had everything */
  async join(): Promise<number> {
    const began = nowMs();
    this.zones.join(this.#subject.kdsAddress, this.#expected);
    return (await this.zones.received(this.#expected)) - began;
  }

  /**
   * Changes policies by REST, all at once.
   * @returns milliseconds from before the first PUT until the last change was in the last zone
   */
  async change(count = 1): Promise<number> {
    const { resources } = this.size;
    this.#expected += count;
    const bodies = Array.from({ length: count }, () => {
      const revision = ++this.#revision;
      const index = revision % resources;
      return { path: policyPath(index), body: policyBody(index, revision) };
    });
    const began = nowMs();
    const [at] = await Promise.all([
      this.zones.received(this.#expected),
      ...bodies.map(({ path, body }) => this.#http.put(path, body)),
    ]);
    return at - began;
  }

  get kdsAddress(): string {
    return this.#subject.kdsAddress;
  }

  async stop(): Promise<void> {
    this.#http.close();
    await this.zones.end();
    await this.#subject.stop();
  }
}

/** A global with that many MeshTimeouts that has written its own defaults too. */
export async function startSeededGlobal(
  postgres: Postgres,
  resources: number,
  env: Record<string, string> = {},
): Promise<Subject & { startSeconds: number; database: PostgresConfig }> {
  const database = await postgres.createDatabase(resources);
  const { pid, kdsAddress, apiPort, startSeconds, stop } = await startGlobal(database, env);
  const watch = await RowWatch.open(database);
  // The id of the cluster is the last of the defaults.
  await watch.until(`select exists (select from resources where type = 'Config' and name = 'kuma-cluster-id') as yes`, []);
  await watch.close();
  const stopAndDrop = async (): Promise<void> => {
    await stop();
    await postgres.dropDatabase(database);
  };
  return { pid, kdsAddress, apiPort, startSeconds, database, stop: stopAndDrop };
}
