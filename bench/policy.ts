// `npm run bench:policy`: rules and inspect answers in a mesh of 1,000 services, 1,000 proxies and 2,000 policies, on the store
// that is embedded. Exit codes: 0 measured (over a budget or not), 1 could not measure, 2 the call was not understood.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { cpus, loadavg, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { Command, CommanderError } from 'commander';
import { messageOf } from '../src/base/errors.ts';
import { table } from '../src/cli/output.ts';
import { buildRules, type ProxyRules } from '../src/policy/build-rules.ts';
import { MeshIndex } from '../src/policy/mesh-index.ts';
import { nowMs, percentile } from './measure.ts';
import { isWithin, type Budget, type Metric } from './metric.ts';
import { measureInspect } from './policy-inspect.ts';
import { defaultTimeout, MESH, meshRows, policy, POLICIES, PROXIES, proxyName, SERVICES } from './policy-mesh.ts';

/** From issue 5, point 7. */
const budgets = {
  oneProxyMs: { most: 10 },
  allProxiesMs: { most: 2_000 },
  inspectMs: { most: 50 },
} as const satisfies Record<string, Budget>;

const CHANGES = 100;

const program = new Command('npm run bench:policy --')
  .description('Measure the rules of proxies and the answers of inspect.')
  .option('--json <file>', 'write the results and the facts of the machine there')
  .exitOverride()
  .action(bench);

/** Rules of every proxy, each key merged, as a configuration of all of them would need. */
function measureRules(): Metric[] {
  const rows = meshRows();
  const [index, indexMs] = timed(() => new MeshIndex(MESH, rows));
  const [all, allMs] = timed(() => [...index.proxies()].map((proxy) => merged(buildRules(index, proxy))));
  const keys = all.reduce((sum, count) => sum + count, 0);
  const one: number[] = [];
  for (let at = 0; at < PROXIES; at += 1) one.push(rulesOf(index, at));
  const afterChange: number[] = [];
  const afterDefault: number[] = [];
  for (let change = 1; change <= CHANGES; change += 1) {
    index.put(policy((change * 37) % POLICIES, change));
    afterChange.push(rulesOf(index, change));
    index.put(defaultTimeout(change));
    afterDefault.push(rulesOf(index, change));
  }
  return [
    metric('index', 'read 1,000 services, 1,000 proxies, 2,000 policies', indexMs),
    metric('rules', `1,000 proxies, nothing known before (${keys.toLocaleString('en-US')} keys)`, allMs, budgets.allProxiesMs),
    ...spread('rules', 'one proxy, nothing has changed', one),
    ...spread('rules', 'one proxy after a policy has changed', afterChange),
    ...spread('rules', 'one proxy after the default of all has changed', afterDefault),
  ];
}

/** @returns milliseconds of CPU of this thread: other processes of the machine do not count */
function rulesOf(index: MeshIndex, at: number): number {
  const proxy = index.proxy(proxyName(at));
  if (proxy === undefined) throw new Error(`there is no proxy ${proxyName(at)}`);
  const before = process.threadCpuUsage();
  merged(buildRules(index, proxy));
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

/** Merges every key and counts them: rules are merged when they are first looked at. */
function merged({ types }: ProxyRules): number {
  let keys = 0;
  for (const { toRules } of types) for (const { conf } of toRules.values()) keys += conf.length;
  return keys;
}

function spread(section: string, name: string, values: readonly number[]): Metric[] {
  return [
    metric(section, `${name}, p50 of CPU`, percentile(values, 0.5), budgets.oneProxyMs),
    metric(section, `${name}, p99 of CPU`, percentile(values, 0.99), budgets.oneProxyMs),
  ];
}

function metric(section: string, name: string, meridian: number, budget?: Budget): Metric {
  return { section, name, unit: 'ms', meridian, ...(budget !== undefined && { budget }) };
}

function timed<T>(task: () => T): [T, number] {
  const start = nowMs();
  const result = task();
  return [result, nowMs() - start];
}

async function bench({ json }: { readonly json?: string }): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'meridian-bench-policy-'));
  try {
    const rules = measureRules();
    const inspect = await measureInspect(join(folder, 'pg'));
    const metrics = [
      ...rules,
      ...inspect.flatMap(({ name, values, cpuMs }) => [
        metric('inspect', `${name}, p50`, percentile(values, 0.5), values.length > 1 ? budgets.inspectMs : undefined),
        ...(values.length > 1
          ? [
              metric('inspect', `${name}, p95`, percentile(values, 0.95), budgets.inspectMs),
              metric('inspect', `${name}, CPU of one`, cpuMs, budgets.inspectMs),
            ]
          : []),
      ]),
    ];
    const machine = {
      cpu: cpus()[0]?.model ?? 'unknown',
      cores: cpus().length,
      load: loadavg()[0] ?? 0,
      memoryGb: Math.round(totalmem() / 1e9),
    };
    const settings = { services: SERVICES, proxies: PROXIES, policies: POLICIES };
    const judged = metrics.map((one) => ({ ...one, verdict: one.budget === undefined ? 'none' : isWithin(one) ? 'ok' : 'over' }));
    process.stdout.write(
      `${machine.cpu}, ${String(machine.cores)} cores, ${String(machine.memoryGb)} GB, load ${machine.load.toFixed(1)}; Node ${process.version}; embedded store\n\n`,
    );
    const rows = judged.map(({ section, name, meridian, budget, verdict }) => [
      `${section}: ${name}`,
      `${meridian.toFixed(meridian < 10 ? 2 : 0)} ms`,
      budget?.most === undefined ? '-' : `≤ ${budget.most.toLocaleString('en-US')} ms`,
      verdict === 'none' ? '' : verdict,
    ]);
    process.stdout.write(`${table(['METRIC', 'MERIDIAN', 'BUDGET', ''], rows)}\n`);
    const report = { date: new Date().toISOString(), machine: { ...machine, node: process.version }, settings, metrics: judged };
    if (json !== undefined) await writeFile(json, `${JSON.stringify(report, null, 2)}\n`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2;
  else {
    process.stderr.write(`bench:policy: ${messageOf(error)}\n`);
    process.exitCode = 1;
  }
}
