// The changes of one mesh of a zone beside heavy callers of another: their PUTs, and their way to a proxy, against the same without them, in
// turns in the same run, so that a busy machine slows both. Also the longest turn of the main thread, the CPU of a small change in a large
// route and in a large mesh, and what is left of a preview whose caller has gone.
import type { ChildProcess } from 'node:child_process';
import { request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../src/base/errors.ts';
import { freePort } from '../test/support/free-port.ts';
import { endChild, nextMessage, startScript } from './children.ts';
import type { Context } from './context.ts';
import { startLoneZone, type ControlPlane } from './control-plane.ts';
import { FakeProxies } from './fake-proxies.ts';
import type { HeavyCommand } from './heavy-callers-process.ts';
import {
  dataplane,
  heavyCallers,
  longRoute,
  ROUTE,
  SERVICE,
  service,
  timeoutForAll,
  type HeavyCaller,
} from './heavy-documents.ts';
import { HttpClient } from './http-client.ts';
import { cpuNanoseconds, nowMs, percentile } from './measure.ts';
import { budgets, type Metric } from './metric.ts';
import type { Settings } from './settings.ts';

const ZONE = 'bench';
const SECTION = 'neighbours';
const LARGE = 'large';
const LARGE_THINGS = 'small changes of large things, and a preview whose caller leaves';
/** A mesh of its own for each size. The neighbour is in `small`. */
const MESHES = { small: 5, hundred: 100, large: 2_000 } as const;
type MeshName = keyof typeof MESHES;
/** Rules of the route in the mesh of the neighbour. */
const FEW_RULES = 5;
const SMALL_CHANGES = 20;
/** Nothing tells when the followers of a PUT that changes nothing have read it. */
const SAME_PAUSE_MS = 100;
/** Times that a heavy caller comes and goes, with quiet changes before each. */
const ROUNDS = 4;
/** After a caller has left, its work may go on so long. */
const LEAVE_MS = 100;
const WATCHED_MS = 500;

/** What can be measured alone. */
export const heavySections: Readonly<Record<string, string>> = { ...heavyCallers, [LARGE]: LARGE_THINGS };

/** Milliseconds of PUTs and of their way to the proxy of the neighbour. */
type Changes = { readonly puts: number[]; readonly effects: number[] };

/** @property body of a change @property type of the body */
type Write = { readonly path: string; readonly body: (count: number) => string; readonly type: string };

/** @param wanted callers, `neighbours` for all, or `large` for what has no caller */
export async function measureHeavyCallers(
  { settings, postgres, say, part }: Context<Settings>,
  wanted: ReadonlySet<string>,
): Promise<Metric[]> {
  const isWanted = (name: string): boolean => wanted.has(SECTION) || wanted.has(name);
  const server = await postgres();
  const database = await server.createDatabase(0);
  const proxyPort = await freePort();
  say('a zone with small and large meshes');
  const zone = await startLoneZone(ZONE, database, {
    MERIDIAN_DP_SERVER_PORT: String(proxyPort),
    MERIDIAN_DP_SERVER_AUTHN_DP_PROXY_TYPE: 'none',
  });
  const bench = new HeavyBench(zone, proxyPort, settings);
  try {
    await bench.prepare();
    const metrics: Metric[] = [];
    for (const caller of (Object.keys(heavyCallers) as HeavyCaller[]).filter(isWanted)) {
      say(`changes beside ${heavyCallers[caller]}`);
      metrics.push(...(await part(caller, async () => await bench.beside(caller))));
    }
    if (!isWanted(LARGE)) return metrics;
    say(LARGE_THINGS);
    return [...metrics, ...(await part(LARGE, async () => [...(await bench.smallChanges()), await bench.leftPreview()]))];
  } finally {
    await bench.stop();
    await zone.stop();
    await server.dropDatabase(database);
  }
}

class HeavyBench {
  readonly #zone: ControlPlane;
  readonly #proxyPort: number;
  readonly #settings: Settings;
  readonly #http: HttpClient;
  readonly #proxies = new Map<MeshName, FakeProxies>();
  #count = 0;

  constructor(zone: ControlPlane, proxyPort: number, settings: Settings) {
    this.#zone = zone;
    this.#proxyPort = proxyPort;
    this.#settings = settings;
    this.#http = new HttpClient(zone.apiPort);
  }

  /** Each mesh has a service, a route and Dataplanes; one of these has a proxy that is connected. */
  async prepare(): Promise<void> {
    for (const [mesh, count] of Object.entries(MESHES) as [MeshName, number][]) {
      await this.#http.put(`/meshes/${mesh}`, JSON.stringify({ type: 'Mesh', name: mesh }));
      await this.#http.put(`/meshes/${mesh}/meshservices/${SERVICE}`, JSON.stringify(service(mesh, SERVICE)));
      for (let index = 0; index < count; index += 1)
        await this.#http.put(
          `/meshes/${mesh}/dataplanes/${proxyName(index)}`,
          JSON.stringify(dataplane(mesh, proxyName(index), index)),
        );
      await this.#put(routeOf(mesh, mesh === 'hundred' ? undefined : FEW_RULES));
      const proxies = await FakeProxies.start([proxyName(0)], 1);
      await proxies.join(this.#proxyPort, mesh);
      this.#proxies.set(mesh, proxies);
    }
    await delay(2_000);
  }

  /** The changes of the neighbour beside a heavy caller, against those without it, in turns. */
  async beside(caller: HeavyCaller): Promise<Metric[]> {
    const name = heavyCallers[caller];
    const { warmUp, heavyChanges } = this.#settings;
    const write = caller === 'yaml' ? inYaml(routeOf('small', FEW_RULES)) : routeOf('small', FEW_RULES);
    const count = Math.ceil(heavyChanges / ROUNDS);
    const alone: Changes = { puts: [], effects: [] };
    const beside: Changes = { puts: [], effects: [] };
    let longest = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      await this.#changes(Math.min(warmUp, 20), write);
      add(alone, await this.#changes(count, write));
      const heavy = await startHeavy(this.#zone.apiPort, caller);
      try {
        await this.#changes(5, write);
        await this.#longestTurnMs();
        add(beside, await this.#changes(count, write));
        longest = Math.max(longest, await this.#longestTurnMs());
      } finally {
        await endChild(heavy);
      }
      await delay(500);
    }
    const ratio = (of: keyof Changes): number => percentile(beside[of], 0.99) / percentile(alone[of], 0.99);
    const common = { section: SECTION, unit: '×', budget: budgets.attackFactor };
    return [
      { ...common, name: `PUT beside ${name}, p99`, meridian: ratio('puts') },
      { ...common, name: '… until a proxy has it, p99', meridian: ratio('effects') },
      { section: SECTION, name: '… p99 of the PUT then', unit: 'ms', meridian: percentile(beside.puts, 0.99) },
      {
        section: SECTION,
        name: '… longest turn of the main thread then',
        unit: 'ms',
        meridian: longest,
        budget: budgets.longestTurnMs,
      },
    ];
  }

  /** The CPU of one change of a large thing, against that of the same change of a small one. */
  async smallChanges(): Promise<Metric[]> {
    const route = async (mesh: MeshName, rules?: number): Promise<number> => await this.#cpuOf(mesh, routeOf(mesh, rules));
    const move = async (mesh: MeshName): Promise<number> => await this.#cpuOf(mesh, moveOf(mesh), 'ClusterLoadAssignment');
    const [longRouteMs, shortRouteMs] = [await route('hundred'), await route('small', FEW_RULES)];
    const sameRouteMs = await this.#cpuOfSame(routeOf('hundred'));
    const [largeMeshMs, smallMeshMs] = [await move('large'), await move('small')];
    const common = { section: SECTION, unit: '×', budget: budgets.sizeFactor };
    return [
      // A caller pays for its document with each PUT of it, also with one that changes nothing (decision 117).
      {
        ...common,
        name: 'CPU that a changed rule of 4,500 costs beside its document, against a change of 5 rules',
        meridian: (longRouteMs - sameRouteMs) / shortRouteMs,
      },
      { section: SECTION, name: '… CPU of the change with its document', unit: 'ms', meridian: longRouteMs },
      { section: SECTION, name: '… CPU of the document alone, which changes nothing', unit: 'ms', meridian: sameRouteMs },
      { ...common, name: 'CPU of a change of one of 2,000 Dataplanes, against one of 5', meridian: largeMeshMs / smallMeshMs },
      { section: SECTION, name: '… CPU of it', unit: 'ms', meridian: largeMeshMs },
    ];
  }

  /** CPU of the zone from 100 ms after the caller of a preview has left, in percent of one core. */
  async leftPreview(): Promise<Metric> {
    const headers = { 'content-type': 'application/json' };
    const options = { host: '127.0.0.1', port: this.#zone.apiPort, method: 'POST', path: '/_preview', headers };
    const call = request(options).on('error', () => undefined);
    call.end(JSON.stringify([timeoutForAll('hundred')]));
    await delay(LEAVE_MS);
    call.destroy();
    await delay(LEAVE_MS);
    const before = cpuNanoseconds(this.#zone.pid);
    await delay(WATCHED_MS);
    const percent = ((cpuNanoseconds(this.#zone.pid) - before) / 1e6 / WATCHED_MS) * 100;
    const name = 'CPU from 100 ms after the caller of a preview has left';
    return { section: SECTION, name, unit: '%', meridian: percent, budget: budgets.idleAfterLeavePercent };
  }

  async stop(): Promise<void> {
    this.#http.close();
    for (const proxies of this.#proxies.values()) await proxies.end();
  }

  async #put({ path, body, type }: Write): Promise<void> {
    await this.#http.put(path, body((this.#count += 1)), type);
  }

  /** Changes of the neighbour, one after the other, each until its proxy has it. */
  async #changes(count: number, write: Write): Promise<Changes> {
    const proxies = this.#watch('small', 'RouteConfiguration');
    const puts: number[] = [];
    const effects: number[] = [];
    for (let done = 1; done <= count; done += 1) {
      const began = nowMs();
      const put = this.#put(write).then(() => void puts.push(nowMs() - began));
      const [at] = await Promise.all([proxies.received(done), put]);
      effects.push(at - began);
    }
    return { puts, effects };
  }

  async #cpuOf(
    mesh: MeshName,
    write: Write,
    type: 'RouteConfiguration' | 'ClusterLoadAssignment' = 'RouteConfiguration',
  ): Promise<number> {
    const proxies = this.#watch(mesh, type);
    let before = 0;
    for (let done = 1; done <= 2 * SMALL_CHANGES; done += 1) {
      if (done === SMALL_CHANGES + 1) before = cpuNanoseconds(this.#zone.pid);
      // The proxy may have it before the answer is here.
      await Promise.all([proxies.received(done), this.#put(write)]).catch((error: unknown) => {
        throw new Error(`mesh ${mesh}, ${type}: ${messageOf(error)}`);
      });
    }
    return (cpuNanoseconds(this.#zone.pid) - before) / 1e6 / SMALL_CHANGES;
  }

  /** CPU of a PUT of what is stored already. */
  async #cpuOfSame({ path, body, type }: Write): Promise<number> {
    const text = body((this.#count += 1));
    let before = 0;
    for (let done = 1; done <= 2 * SMALL_CHANGES; done += 1) {
      if (done === SMALL_CHANGES + 1) before = cpuNanoseconds(this.#zone.pid);
      await this.#http.put(path, text, type);
      await delay(SAME_PAUSE_MS);
    }
    return (cpuNanoseconds(this.#zone.pid) - before) / 1e6 / SMALL_CHANGES;
  }

  #watch(mesh: MeshName, type: 'RouteConfiguration' | 'ClusterLoadAssignment'): FakeProxies {
    const proxies = this.#proxies.get(mesh);
    if (proxies === undefined) throw new Error(`mesh ${mesh} has no proxy`);
    proxies.watch(type, `kri_msvc_${mesh}_${ZONE}__${SERVICE}_http`);
    return proxies;
  }

  /** Since the last call. */
  async #longestTurnMs(): Promise<number> {
    const answer = await fetch(`http://127.0.0.1:${String(this.#zone.diagnosticsPort)}/metrics`);
    const found = /^nodejs_eventloop_lag_max_seconds\{[^}]*\} (\S+)$/m.exec(await answer.text())?.[1];
    return Number(found) * 1_000;
  }
}

function add(all: Changes, more: Changes): void {
  all.puts.push(...more.puts);
  all.effects.push(...more.effects);
}

function proxyName(index: number): string {
  return `proxy-${String(index)}`;
}

function routeOf(mesh: MeshName, rules?: number): Write {
  return {
    path: `/meshes/${mesh}/meshhttproutes/${ROUTE}`,
    body: (count) => JSON.stringify(longRoute(mesh, count, rules)),
    type: 'application/json',
  };
}

/** JSON is YAML too. */
function inYaml(write: Write): Write {
  return { ...write, type: 'application/yaml' };
}

function moveOf(mesh: MeshName): Write {
  const name = proxyName(1);
  return {
    path: `/meshes/${mesh}/dataplanes/${name}`,
    body: (count) => JSON.stringify(dataplane(mesh, name, 1, count)),
    type: 'application/json',
  };
}

/** Where the heavy caller works: not in the mesh of the neighbour. */
const MESH_OF: Record<HeavyCaller, MeshName> = {
  ...{ previews: 'hundred', route: 'hundred', dataplane: 'large', yaml: 'hundred', forged: 'hundred' },
};

async function startHeavy(port: number, caller: HeavyCaller): Promise<ChildProcess> {
  const child = startScript('heavy-callers-process.ts');
  await nextMessage(child);
  child.send({ port, caller, mesh: MESH_OF[caller] } satisfies HeavyCommand);
  await nextMessage(child);
  return child;
}
