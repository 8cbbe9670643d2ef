// Inspect answers over the REST API of a global, the change feed and the store included; no network.
import type { FastifyInstance } from 'fastify';
import { Registry } from 'prom-client';
import { createApi } from '../src/api/create-api.ts';
import { createLogger } from '../src/base/log.ts';
import { addPolicyInspect } from '../src/inspect/add-inspect-routes.ts';
import type { Resource } from '../src/resource/types.ts';
import { openStore } from '../src/store/open-store.ts';
import type { ResourceStore, Write } from '../src/store/resource-store.ts';
import { nowMs } from './measure.ts';
import { MESH, meshRows, outboundKri, policy, POLICIES, PROXIES, proxyName, routeAt } from './policy-mesh.ts';

/** `cpuMs` is the mean of one answer, with its part of garbage collection and of the embedded store. */
export type Measured = { readonly name: string; readonly values: readonly number[]; readonly cpuMs: number };

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

/** Every kind of question, of proxies and policies in turn; and `_rules` right after a write. @param folder of the store */
export async function measureInspect(folder: string): Promise<Measured[]> {
  const log = createLogger('silent');
  const store = await openStore({ type: 'embedded', path: folder }, { log });
  const app = createApi({
    ...{ store, log, mode: 'global', zone: null, federated: false, readOnly: false, config: {}, metrics: new Registry() },
    ...{ product: 'Meridian', productVersion: 'bench', instanceId: 'bench', clusterId: async () => 'bench' },
    ...{ proxyAdmin: async () => new Uint8Array(), meshDefaults: async () => [], addRoutes: addPolicyInspect },
  });
  try {
    await load(store, meshRows());
    const first = await ask(app, `${dataplane(0)}/_rules`);
    const measured: Measured[] = [{ name: 'the first answer, the mesh read from the store', values: [first], cpuMs: NaN }];
    for (const [name, path] of questions) {
      const values: number[] = [];
      for (let at = 0; at < WARM_UP; at += 1) await ask(app, path(at * 7));
      const before = process.cpuUsage();
      for (let at = 0; at < ASKED; at += 1) values.push(await ask(app, path(at * 11)));
      measured.push({ name, values, cpuMs: cpuSince(before) / ASKED });
    }
    const values: number[] = [];
    const before = process.cpuUsage();
    for (let change = 1; change <= ASKED; change += 1) {
      await load(store, [policy((change * 37) % POLICIES, change)]);
      values.push(await ask(app, `${dataplane(change)}/_rules`));
    }
    return [...measured, { name: '_rules after a policy was written', values, cpuMs: cpuSince(before) / ASKED }];
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

function cpuSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
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
