// Rules of proxies, from an index of their mesh in memory; no store, no API.
import { buildRules, type ProxyRules } from '../src/policy/build-rules.ts';
import { MeshIndex } from '../src/policy/mesh-index.ts';
import type { Context, Sections } from './context.ts';
import { cpuMs, nowMs, percentile } from './measure.ts';
import { metricsOf, type Budget, type Metric } from './metric.ts';
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
  const index = new MeshIndex(MESH, meshRows());
  const began = nowMs();
  const all = [...index.proxies()].map((proxy) => merged(buildRules(index, proxy)));
  const allMs = nowMs() - began;
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
  const metric = metricsOf('rules');
  const name = `${String(PROXIES)} proxies, nothing known before (${keys.toLocaleString('en-US')} keys)`;
  const spread = (what: string, values: readonly number[]): Metric[] =>
    [0.5, 0.99].map((share) =>
      metric(`one proxy${what}, p${String(share * 100)} of CPU`, 'ms', percentile(values, share), { budget: budgets.oneProxyMs }),
    );
  return [
    metric(name, 'ms', allMs, { budget: budgets.allProxiesMs }),
    ...spread(', nothing has changed', one),
    ...spread(' after a policy has changed', afterChange),
    ...spread(' after the default of all has changed', afterDefault),
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
