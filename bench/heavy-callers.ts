// The changes of one mesh of a zone beside heavy callers of another: their PUTs, and their way to a proxy, against the same without them, in
// turns in the same run, so that a busy machine slows both. Also the longest turn of the main thread, the CPU of a small change in a large
// route and in a large mesh, and what is left of a preview whose caller has gone.
import { request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../src/base/errors.ts';
import type { JsonObject } from '../src/resource/types.ts';
import { freePort } from '../test/support/free-port.ts';
import { answerOf, endChild, startScript } from './children.ts';
import type { Context } from './context.ts';
import { proxiesEnv, startLoneZone, type ControlPlane } from './control-plane.ts';
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
import { cpuNanoseconds, nowMs, percentile, ratioOf, repeat, untilSeen } from './measure.ts';
import { budgets, metricsOf, type Metric } from './metric.ts';
import type { Settings } from './settings.ts';

const ZONE = 'bench';
const SECTION = 'neighbours';
const LARGE = 'large';
const LARGE_THINGS = 'small changes of large things, and a preview whose caller leaves';
/** A mesh of its own for each size, in Dataplanes. The neighbour is in `small`. */
const MESHES = { small: 5, hundred: 100, large: 2_000 } as const;
type MeshName = keyof typeof MESHES;
/** Rules of the route in the mesh of the neighbour. */
const FEW_RULES = 5;
const SMALL_CHANGES = { warmUp: 20, changes: 20 };
/** Nothing tells when the followers of a PUT that changes nothing have read it. */
const SAME_PAUSE_MS = 100;
/** Times that a heavy caller comes and goes, with quiet changes before each. */
const ROUNDS = 4;
/** After a caller has left, its work may go on so long. */
const LEAVE_MS = 100;
const WATCHED_MS = 500;
const metric = metricsOf(SECTION);

/** What can be measured alone. */
export const heavySections: Readonly<Record<string, string>> = { ...heavyCallers, [LARGE]: LARGE_THINGS };

/** Milliseconds of PUTs and of their way to the proxy of the neighbour. */
type Changes = { readonly puts: number[]; readonly effects: number[] };
type Watched = 'RouteConfiguration' | 'ClusterLoadAssignment';
/** @property body of a change @property type of the body */
type Write = { readonly path: string; readonly body: (count: number) => JsonObject; readonly type?: string };

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
  const zone = await startLoneZone(ZONE, database, proxiesEnv(proxyPort));
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
      await this.#put({ path: `/meshes/${mesh}`, body: () => ({ type: 'Mesh', name: mesh }) });
      await this.#put({ path: `/meshes/${mesh}/meshservices/${SERVICE}`, body: () => service(mesh, SERVICE) });
      for (let index = 0; index < count; index += 1)
        await this.#put({
          path: `/meshes/${mesh}/dataplanes/${proxyName(index)}`,
          body: () => dataplane(mesh, proxyName(index), index),
        });
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
    // JSON is YAML too.
    const write: Write = { ...routeOf('small', FEW_RULES), type: caller === 'yaml' ? 'application/yaml' : 'application/json' };
    const count = Math.ceil(heavyChanges / ROUNDS);
    const alone: Changes = { puts: [], effects: [] };
    const beside: Changes = { puts: [], effects: [] };
    let longest = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      await this.#changes(Math.min(warmUp, 20), write);
      await this.#changes(count, write, alone);
      const heavy = startScript('heavy-callers-process.ts');
      await answerOf(heavy, { port: this.#zone.apiPort, caller, mesh: meshOf(caller) } satisfies HeavyCommand);
      try {
        await this.#changes(5, write);
        await this.#longestTurnMs();
        await this.#changes(count, write, beside);
        longest = Math.max(longest, await this.#longestTurnMs());
      } finally {
        await endChild(heavy);
      }
      await delay(500);
    }
    const more = { budget: budgets.attackFactor };
    return [
      metric(`PUT beside ${name}, p99`, '×', ratioOf(beside.puts, alone.puts, 0.99), more),
      metric('… until a proxy has it, p99', '×', ratioOf(beside.effects, alone.effects, 0.99), more),
      metric('… p99 of the PUT then', 'ms', percentile(beside.puts, 0.99)),
      metric('… longest turn of the main thread then', 'ms', longest, { budget: budgets.longestTurnMs }),
    ];
  }

  /** The CPU of one change of a large thing, against that of the same change of a small one. */
  async smallChanges(): Promise<Metric[]> {
    const longRouteMs = await this.#cpuOf('hundred', routeOf('hundred'), 'RouteConfiguration');
    const shortRouteMs = await this.#cpuOf('small', routeOf('small', FEW_RULES), 'RouteConfiguration');
    const sameRouteMs = await this.#cpuOfSame(routeOf('hundred'));
    const largeMeshMs = await this.#cpuOf('large', moveOf('large'), 'ClusterLoadAssignment');
    const smallMeshMs = await this.#cpuOf('small', moveOf('small'), 'ClusterLoadAssignment');
    const more = { budget: budgets.sizeFactor };
    // A caller pays for its document with each PUT of it, also with one that changes nothing (decision 117).
    const rule = 'CPU that a changed rule of 4,500 costs beside its document, against a change of 5 rules';
    const moved = 'CPU of a change of one of 2,000 Dataplanes, against one of 5';
    return [
      metric(rule, '×', (longRouteMs - sameRouteMs) / shortRouteMs, more),
      metric('… CPU of the change with its document', 'ms', longRouteMs),
      metric('… CPU of the document alone, which changes nothing', 'ms', sameRouteMs),
      metric(moved, '×', largeMeshMs / smallMeshMs, more),
      metric('… CPU of it', 'ms', largeMeshMs),
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
    return metric(name, '%', percent, { budget: budgets.idleAfterLeavePercent });
  }

  async stop(): Promise<void> {
    this.#http.close();
    for (const proxies of this.#proxies.values()) await proxies.end();
  }

  async #put({ path, body, type }: Write): Promise<void> {
    await this.#http.put(path, JSON.stringify(body((this.#count += 1))), type);
  }

  /** Changes of the neighbour, one after the other, each until its proxy has it. @param found what they took is added to it */
  async #changes(changes: number, write: Write, found?: Changes): Promise<void> {
    const proxies = this.#watch('small', 'RouteConfiguration');
    for (let count = 1; count <= changes; count += 1) {
      const began = nowMs();
      const put = this.#put(write).then(() => found?.puts.push(nowMs() - began));
      const [at] = await Promise.all([proxies.received(count), put]);
      found?.effects.push(at - began);
    }
  }

  /** Milliseconds of CPU of the zone for each change that a proxy has. */
  async #cpuOf(mesh: MeshName, write: Write, type: Watched): Promise<number> {
    const proxies = this.#watch(mesh, type);
    return await this.#cpu((count) =>
      // The proxy may have it before the answer is here.
      untilSeen(proxies.received(count), () => this.#put(write)).catch((error: unknown) => {
        throw new Error(`mesh ${mesh}, ${type}: ${messageOf(error)}`);
      }),
    );
  }

  /** CPU of a PUT of what is stored already. */
  async #cpuOfSame({ path, body, type }: Write): Promise<number> {
    const text = JSON.stringify(body((this.#count += 1)));
    return await this.#cpu(async () => {
      await this.#http.put(path, text, type);
      await delay(SAME_PAUSE_MS);
      return 0;
    });
  }

  async #cpu(change: (count: number) => Promise<number>): Promise<number> {
    return (await repeat(() => cpuNanoseconds(this.#zone.pid) / 1e9, SMALL_CHANGES, change)).cpuMs;
  }

  #watch(mesh: MeshName, type: Watched): FakeProxies {
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

function proxyName(index: number): string {
  return `proxy-${String(index)}`;
}

function routeOf(mesh: MeshName, rules?: number): Write {
  return { path: `/meshes/${mesh}/meshhttproutes/${ROUTE}`, body: (count) => longRoute(mesh, count, rules) };
}

function moveOf(mesh: MeshName): Write {
  const name = proxyName(1);
  return { path: `/meshes/${mesh}/dataplanes/${name}`, body: (count) => dataplane(mesh, name, 1, count) };
}

/** Where the heavy caller works: not in the mesh of the neighbour. */
function meshOf(caller: HeavyCaller): MeshName {
  return caller === 'dataplane' ? 'large' : 'hundred';
}
