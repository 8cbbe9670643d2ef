// Rules of proxies, from an index of their mesh in memory; no store, no API.
import { buildRules, type ProxyRules } from '../src/policy/build-rules.ts';
import { MeshIndex } from '../src/policy/mesh-index.ts';
import type { Context, Sections } from './context.ts';
import { cpuMs, nowMs, percentile } from './measure.ts';
import type { Budget, Metric } from './metric.ts';
import { defaultTimeout, MESH, meshRows, policy, POLICIES, PROXIES, proxyName } from './policy-mesh.ts';

const budgets = { oneProxyMs: { most: 10 }, allProxiesMs: { most: 2_000 } } as const satisfies Record<string, Budget>;

const CHANGES = 100;

export const rules: Sections<object> = {
  names: { rules: 'rules of all proxies, and of one before and after changes' },
  measure: measureRules,
};

/** Rules of every proxy, each key merged, as a configuration of all of them would need. */
async function measureRules({ say }: Context<object>): Promise<Metric[]> {
  say('rules of every proxy');
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
    metric('read 1,000 services, 1,000 proxies, 2,000 policies', indexMs),
    metric(`1,000 proxies, nothing known before (${keys.toLocaleString('en-US')} keys)`, allMs, budgets.allProxiesMs),
    ...spread('one proxy, nothing has changed', one),
    ...spread('one proxy after a policy has changed', afterChange),
    ...spread('one proxy after the default of all has changed', afterDefault),
  ];
}

/** @returns milliseconds of CPU of this thread: other processes of the machine do not count */
function rulesOf(index: MeshIndex, at: number): number {
  const proxy = index.proxy(proxyName(at));
  if (proxy === undefined) throw new Error(`there is no proxy ${proxyName(at)}`);
  const before = process.threadCpuUsage();
  merged(buildRules(index, proxy));
  return cpuMs(process.threadCpuUsage(before));
}

/** Merges every key and counts them: rules are merged when they are first looked at. */
function merged({ types }: ProxyRules): number {
  let keys = 0;
  for (const { toRules } of types) for (const { conf } of toRules.values()) keys += conf.length;
  return keys;
}

function spread(name: string, values: readonly number[]): Metric[] {
  return [
    metric(`${name}, p50 of CPU`, percentile(values, 0.5), budgets.oneProxyMs),
    metric(`${name}, p99 of CPU`, percentile(values, 0.99), budgets.oneProxyMs),
  ];
}

function timed<T>(task: () => T): [T, number] {
  const start = nowMs();
  const result = task();
  return [result, nowMs() - start];
}

function metric(name: string, meridian: number, budget?: Budget): Metric {
  return { section: 'rules', name, unit: 'ms', meridian, ...(budget !== undefined && { budget }) };
}
