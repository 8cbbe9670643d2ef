// `npm run bench:dns`: queries for mesh names at the DNS server of the launcher of a proxy.
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { encode } from 'dns-packet';
import { answerOf, startScript } from './children.ts';
import type { Context } from './context.ts';
import type { DnsServerCommand } from './dns-server-process.ts';
import { cpuNanoseconds, nowMs, percentile, requireProc } from './measure.ts';
import { metricsOf, type Budget, type Metric } from './metric.ts';
import { runProgram } from './program.ts';

type Settings = { readonly names: number; readonly queries: number };
/** @property perCpuSecond answers for each second of CPU of the server */
type Measured = { readonly perCpuSecond: number; readonly p50Ms: number; readonly p99Ms: number };

const budgets = { perCpuSecond: { least: 10_000 }, p99Ms: { most: 1 } } as const satisfies Record<string, Budget>;

/** Queries of a busy machine that wait at one time. */
const BUSY = 32;
/** Before what counts: code is not compiled yet. */
const WARM_UP = 20_000;

await runProgram<Settings>({
  command: 'npm run bench:dns',
  about: 'Measure answers to queries for mesh names by UDP. The floor sends each datagram back.',
  sizes: {
    names: [20_000, 'names in the table'],
    queries: [100_000, 'queries of a busy machine; a tenth of them one after the other'],
  },
  sections: [{ names: { mesh: 'queries for mesh names' }, measure: measureNames }],
  examples: { '--names 1000': 'a small table' },
});

async function measureNames({ settings, say }: Context<Settings>): Promise<Metric[]> {
  requireProc();
  const meridian = await measureServer('meridian', settings, say);
  const floor = await measureServer('floor', settings, say);
  const metric = metricsOf('mesh names');
  const row = (key: keyof Measured, name: string, unit: string, budget?: Budget): Metric =>
    metric(name, unit, meridian[key], { floor: floor[key], budget });
  return [
    row('perCpuSecond', `answers for each second of CPU, ${String(BUSY)} queries wait`, '/s', budgets.perCpuSecond),
    row('p50Ms', 'one query after the other, p50', 'ms'),
    row('p99Ms', '… p99', 'ms', budgets.p99Ms),
  ];
}

async function measureServer(kind: DnsServerCommand['kind'], settings: Settings, say: (text: string) => void): Promise<Measured> {
  const names = Array.from({ length: settings.names }, (_, at) => `service-${String(at)}.svc.mesh.local`);
  const queries = names.map((name) => encode({ id: 1, questions: [{ type: 'A', class: 'IN', name }] }));
  const child = startScript('dns-server-process.ts');
  const port = await freePort();
  await answerOf(child, { kind, port, names } satisfies DnsServerCommand);
  const socket = createSocket('udp4');
  socket.connect(port, '127.0.0.1');
  await once(socket, 'connect');
  say(`${kind}: ${String(settings.queries)} queries`);
  await ask(socket, queries, WARM_UP, BUSY);
  const before = cpuNanoseconds(child.pid ?? 0);
  await ask(socket, queries, settings.queries, BUSY);
  const seconds = (cpuNanoseconds(child.pid ?? 0) - before) / 1e9;
  const latencies = await ask(socket, queries, Math.ceil(settings.queries / 10), 1);
  socket.close();
  child.kill('SIGTERM');
  return {
    perCpuSecond: settings.queries / seconds,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
  };
}

/** Sends a query with each answer, so that as many wait all the time. @returns milliseconds from each query to its answer */
async function ask(socket: Socket, queries: readonly Buffer[], count: number, waiting: number): Promise<readonly number[]> {
  const sentAt: number[] = [];
  const latencies: number[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const send = (): void => {
    if (sentAt.length === count) return;
    const message = queries[(sentAt.length * 7) % queries.length] ?? Buffer.alloc(0);
    message.writeUInt16BE(sentAt.length & 0xffff);
    sentAt.push(nowMs());
    socket.send(message);
  };
  const take = (answer: Buffer): void => {
    // Queries are answered in their order, and none is lost: few wait.
    if (answer.readUInt16BE() !== (latencies.length & 0xffff)) throw new Error('an answer is missing');
    latencies.push(nowMs() - (sentAt[latencies.length] ?? 0));
    if (latencies.length === count) resolve();
    else send();
  };
  socket.on('message', take);
  for (let sent = 0; sent < waiting; sent += 1) send();
  await promise;
  socket.off('message', take);
  return latencies;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return address !== null && typeof address === 'object' ? address.port : 0;
}
