// What the health reports of many proxies cost: one that says the same as the last, and one that changes an inbound. Without the way
// through gRPC, and with a store in memory.
import { PERMITS_ALL } from '../src/resource/proxy-permit.ts';
import { Duplex } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { systemClock } from '../src/base/clock.ts';
import { createLogger } from '../src/base/log.ts';
import { ProxyHealth } from '../src/proxy-health/proxy-health.ts';
import type { ProxyStream } from '../src/proxy-port/proxy-stream.ts';
import { objectsOf } from '../src/resource/read-json.ts';
import { envoyBinaryToJson } from '../src/wire/binary-to-json.ts';
import { toBuffer } from '../src/wire/fields.ts';
import { envoyJsonToBinary } from '../src/wire/json-to-binary.ts';
import { TinyStore } from '../test/support/tiny-store.ts';
import type { Context, Sections } from './context.ts';
import { cpuMs } from './measure.ts';
import { metricsOf, type Metric } from './metric.ts';
import { proxyBudgets, type ProxySizes } from './proxy-sizes.ts';

const REQUEST = 'envoy.service.health.v3.HealthCheckRequestOrEndpointHealthResponse';
const MESH = 'bench';
/** Counted reports of each kind for one proxy, and those before them. */
const ROUNDS = 10;
const WARM_UP = 2;

export const health: Sections<ProxySizes> = {
  names: { health: 'health reports of all proxies: CPU of those that say the same, and of those that change an inbound' },
  measure: measureHealth,
};

/** The stream of one Envoy, which says who it is. */
class Reporter {
  readonly call: Duplex;
  #clusters: string[] = [];

  constructor(name: string) {
    this.call = new Duplex({
      objectMode: true,
      read: () => undefined,
      write: (bytes: Buffer, _, done) => {
        const { clusterHealthChecks } = envoyBinaryToJson('envoy.service.health.v3.HealthCheckSpecifier', bytes);
        this.#clusters = objectsOf(clusterHealthChecks).map(({ clusterName }) => String(clusterName));
        done();
      },
    });
    const metadata = { 'dataplane.admin.socketPath': '/run/admin.sock' };
    this.#send({ healthCheckRequest: { node: { id: `${MESH}.${name}`, metadata } } });
  }

  get isAsked(): boolean {
    return this.#clusters.length > 0;
  }

  report(isHealthy: boolean): void {
    const endpointsHealth = [{ healthStatus: isHealthy ? 'HEALTHY' : 'TIMEOUT' }];
    const localityEndpointsHealth = [{ endpointsHealth }];
    const clusterEndpointsHealth = this.#clusters.map((clusterName) => ({ clusterName, localityEndpointsHealth }));
    this.#send({ endpointHealthResponse: { clusterEndpointsHealth } });
  }

  #send(message: Parameters<typeof envoyJsonToBinary>[1]): void {
    this.call.push(toBuffer(envoyJsonToBinary(REQUEST, message)));
  }
}

async function measureHealth({ settings, say }: Context<ProxySizes>): Promise<Metric[]> {
  say(`health reports of ${String(settings.proxies)} proxies`);
  const store = new TinyStore();
  const log = createLogger('error');
  const inbound = [{ port: 80, serviceProbe: { tcp: {} } }];
  const names = Array.from({ length: settings.proxies }, (_, index) => `proxy-${String(index)}`);
  for (const name of names) {
    const key = { type: 'Dataplane', mesh: MESH, name };
    await store.write({ op: 'put', key, labels: {}, spec: { networking: { address: '127.0.0.1', inbound } } });
  }
  let elapsed = 0;
  const clock = { ...systemClock, elapsed: () => elapsed };
  const server = new ProxyHealth({ store, reportMs: 5_000, applications: null, clock, log });
  const admit = { identify: () => Promise.resolve(), admit: () => Promise.resolve(PERMITS_ALL), end: () => undefined };
  const admitted = { id: '', peer: '', log, ...admit };
  const reporters = names.map((name) => new Reporter(name));
  const streams = reporters.map((one) => server.serve({ ...admitted, call: one.call as unknown as ProxyStream['call'] }));
  const rest = async (): Promise<void> => {
    while (server.waiting > 0 || reporters.some(({ call, isAsked }) => !isAsked || call.readableLength > 0)) await setImmediate();
    await setImmediate();
  };
  await rest();
  // Each probe has answered by now.
  elapsed = 3_600_000;
  /** @returns CPU of a report in µs, without that of the Envoys */
  const cpuOf = async (isHealthy: (round: number) => boolean): Promise<number> => {
    let used = 0;
    for (let round = 0; round < WARM_UP + ROUNDS; round += 1) {
      for (const one of reporters) one.report(isHealthy(round));
      const before = process.cpuUsage();
      await rest();
      if (round >= WARM_UP) used += cpuMs(process.cpuUsage(before));
    }
    return (used / ROUNDS / reporters.length) * 1_000;
  };
  const same = await cpuOf(() => true);
  const isWritten = (version: number): boolean => [...store.rows.values()].every((row) => row.version === version);
  if (!isWritten(0)) throw new Error('a report that says the same has written a row');
  const changing = await cpuOf((round) => round % 2 === 1);
  for (const { call } of reporters) call.push(null);
  await Promise.all(streams);
  if (!isWritten(WARM_UP + ROUNDS)) throw new Error('a report that changes an inbound has written nothing');
  const metric = metricsOf('health');
  return [
    metric('CPU for a report that says the same', 'µs', same, { budget: proxyBudgets.sameReportCpuUs }),
    metric('CPU for a report that changes an inbound', 'µs', changing, { budget: proxyBudgets.changingReportCpuUs }),
  ];
}
