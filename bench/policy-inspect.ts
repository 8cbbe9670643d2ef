// Inspect answers over the REST API of a global, the change feed and the store included; no network.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { systemClock } from '../src/base/clock.ts';
import { createLogger } from '../src/base/log.ts';
import { addPolicyInspect } from '../src/inspect/add-inspect-routes.ts';
import { globalSendRules } from '../src/kds/protocol/rules.ts';
import type { Resource } from '../src/resource/types.ts';
import { openStore } from '../src/store/open-store.ts';
import type { ResourceStore, Write } from '../src/store/resource-store.ts';
import { testApi } from '../test/api/test-api.ts';
import type { Context, Sections } from './context.ts';
import { cpuMs, nowMs, percentile } from './measure.ts';
import { metricsOf, type Budget, type Metric } from './metric.ts';
import { MESH, meshRows, outboundKri, policy, POLICIES, PROXIES, proxyName, routeAt } from './policy-mesh.ts';

/** `meanCpuMs` is of one answer, with its part of garbage collection and of the embedded store. */
type Measured = { readonly name: string; readonly values: readonly number[]; readonly meanCpuMs: number };

const budget: Budget = { most: 50 };
const metric = metricsOf('inspect');
const ASKED = 100;
const WARM_UP = 20;
const BATCH = 500;

const questions: readonly (readonly [name: string, path: (at: number) => string])[] = [
  ['_rules', (at) => `${dataplane(at)}/_rules`],
  ['_policies', (at) => `${dataplane(at)}/_policies`],
  ['_layout', (at) => `${dataplane(at)}/_layout`],
  ['_effective, 100 outbounds', (at) => `${dataplane(at)}/_effective`],
  ['_inbounds/…/_policies', (at) => `${dataplane(at)}/_inbounds/${inboundKri(at)}/_policies`],
  ['_outbounds/…/_policies', (at) => `${dataplane(at)}/_outbounds/${outboundKri(at + 1)}/_policies`],
  ['_outbounds/…/_routes', (at) => `${dataplane(at)}/_outbounds/${outboundKri(routeAt(at).service)}/_routes`],
  [
    '_routes/…/_policies',
    (at) => `${dataplane(at)}/_outbounds/${outboundKri(routeAt(at).service)}/_routes/${routeAt(at).kri}/_policies`,
  ],
  ['_resources/dataplanes', (at) => `${timeoutPath(at)}/_resources/dataplanes`],
  ['_reach', (at) => `${timeoutPath(at)}/_reach`],
  ['_dataplanes', (at) => `/meshes/${MESH}/meshservices/${proxyName(at).replace('-0.', '.')}/_dataplanes`],
  ['_sync', (at) => `${timeoutPath(at)}/_sync`],
];

export const inspect: Sections<object> = {
  names: { inspect: 'every kind of question to the API, of proxies and policies' },
  measure: measureInTemporaryFolder,
};

async function measureInTemporaryFolder({ say }: Context<object>): Promise<Metric[]> {
  const folder = await mkdtemp(join(tmpdir(), 'meridian-bench-policy-'));
  try {
    say('questions to inspect');
    return (await measureInspect(join(folder, 'pg'))).flatMap(metricsOfQuestion);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function metricsOfQuestion({ name, values, meanCpuMs }: Measured): Metric[] {
  return [
    metric(`${name}, p50`, 'ms', percentile(values, 0.5), { budget }),
    metric(`${name}, p95`, 'ms', percentile(values, 0.95), { budget }),
    metric(`${name}, CPU of one`, 'ms', meanCpuMs, { budget }),
  ];
}

/** Every kind of question, of proxies and policies in turn; and `_rules` right after a write. @param folder of the store */
async function measureInspect(folder: string): Promise<Measured[]> {
  const store = await openStore({ type: 'embedded', path: folder }, { clock: systemClock, log: createLogger('silent') });
  const app = testApi(store, 'global', { addRoutes: addPolicyInspect(globalSendRules()) });
  try {
    await load(store, meshRows());
    const measured: Measured[] = [];
    const measure = async (name: string, question: (at: number) => Promise<number>): Promise<void> => {
      const values: number[] = [];
      const before = process.cpuUsage();
      for (let at = 1; at <= ASKED; at += 1) values.push(await question(at));
      measured.push({ name, values, meanCpuMs: cpuMs(process.cpuUsage(before)) / ASKED });
    };
    for (const [name, path] of questions) {
      for (let at = 0; at < WARM_UP; at += 1) await ask(app, path(at * 7));
      await measure(name, (at) => ask(app, path(at * 11)));
    }
    await measure('_rules after a policy was written', async (change) => {
      await load(store, [policy((change * 37) % POLICIES, change)]);
      return await ask(app, `${dataplane(change)}/_rules`);
    });
    return measured;
  } finally {
    await app.close();
    await store.close();
  }
}

async function load(store: ResourceStore, rows: readonly Resource[]): Promise<void> {
  for (let from = 0; from < rows.length; from += BATCH) {
    const writes = rows
      .slice(from, from + BATCH)
      .map(({ type, mesh, name, labels, spec }): Write => ({ op: 'put', key: { type, mesh, name }, labels, spec }));
    await store.writeBatch(writes);
  }
}

/** @returns milliseconds */
async function ask(app: FastifyInstance, url: string): Promise<number> {
  const start = nowMs();
  const { statusCode, body } = await app.inject(url);
  const ms = nowMs() - start;
  if (statusCode !== 200) throw new Error(`${url} is answered by ${String(statusCode)}: ${body}`);
  return ms;
}

function dataplane(at: number): string {
  return `/meshes/${MESH}/dataplanes/${proxyName(at % PROXIES)}`;
}

function inboundKri(at: number): string {
  return outboundKri(at)
    .replace('_msvc_', '_dp_')
    .replace(/_(app-\d+)_http$/, '_$1-0_http');
}

/** A MeshTimeout of a producer. */
function timeoutPath(at: number): string {
  return `/meshes/${MESH}/meshtimeouts/${policy((at % 100) * 20 + 3).name}`;
}
