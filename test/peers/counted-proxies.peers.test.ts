// A Meridian global that keeps counts of proxies or their insights, and a real Kuma zone that has a real proxy.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, inject, it, onTestFinished } from 'vitest';
import { NO_ENVOY } from '../../src/dataplane/find-envoy.ts';
import type { Labels } from '../../src/resource/types.ts';
import { ControlPlane } from '../support/control-plane.ts';
import { globalEnv } from '../support/control-plane-env.ts';
import { freePort } from '../support/free-port.ts';
import { cloneDatabase } from '../support/postgres-database.ts';
import { KumaControlPlane } from './kuma-control-plane.ts';
import { KumaDp } from './kuma-dp.ts';
import { isOnline, LONG_WAIT, stopPlane, untilReady } from './mixed-fleet.ts';
import { read } from './rest.ts';
import { readTable } from './table.ts';

const postgresUrl = inject('postgresUrl');

async function started<T extends ControlPlane>(plane: T): Promise<T> {
  plane.isQuiet = true;
  await plane.psql.connect();
  onTestFinished(() => stopPlane(plane));
  plane.start();
  await untilReady(plane);
  return plane;
}

async function globalThatKeeps(insights: 'all' | 'counts', kds: number): Promise<ControlPlane> {
  const env = {
    ...globalEnv(kds),
    MERIDIAN_DIAGNOSTICS_SERVER_PORT: String(await freePort()),
    MERIDIAN_MULTIZONE_GLOBAL_INSIGHTS: insights,
  };
  return await started(new ControlPlane('global', await cloneDatabase(postgresUrl), await freePort(), env));
}

/** A zone whose port for proxies asks for no token. */
async function kumaZone(kds: number, proxies: number): Promise<ControlPlane> {
  const env = { KUMA_DP_SERVER_PORT: String(proxies), KUMA_DP_SERVER_AUTHN_DP_PROXY_TYPE: 'none' };
  return await started(await KumaControlPlane.zone(postgresUrl, 'kuma-1', `127.0.0.1:${String(kds)}`, { env }));
}

async function startProxy(zone: ControlPlane, proxies: number, labels: Labels = {}): Promise<KumaDp> {
  const workDir = await mkdtemp(join(tmpdir(), 'kuma-dp-'));
  onTestFinished(() => rm(workDir, { recursive: true, force: true }));
  const networking = { address: '127.0.0.1', inbound: [{ port: await freePort(), tags: { 'kuma.io/service': 'cart' } }] };
  const file = join(workDir, 'dataplane.json');
  await writeFile(file, JSON.stringify({ type: 'Dataplane', mesh: 'default', name: 'cart-1', labels, networking }));
  const run = await KumaDp.start({
    url: `https://127.0.0.1:${String(proxies)}`,
    ca: join(zone.env['KUMA_GENERAL_WORK_DIR'] ?? '', 'kuma-cp.crt'),
    envoy: inject('envoy'),
    workDir,
    flags: [`--dataplane-file=${file}`, '--concurrency=1'],
    env: { KUMA_DNS_ENABLED: 'false' },
  });
  onTestFinished(() => run.stop());
  return run;
}

it('counts the proxies of a Kuma zone without a row for each', async () => {
  if (inject('envoy') === '') throw new Error(NO_ENVOY);
  const [kds, proxies] = [await freePort(), await freePort()];
  const global = await globalThatKeeps('counts', kds);
  const zone = await kumaZone(kds, proxies);
  await expect.poll(() => isOnline(global, 'kuma-1'), LONG_WAIT).toBe(true);

  const proxy = await startProxy(zone, proxies);
  const counted = async (): Promise<unknown> => (await read(global, '/mesh-insights/default'))['dataplanes'];
  await expect.poll(counted, LONG_WAIT).toEqual({ total: 1, online: 1 });
  const unknown = async (): Promise<string> => JSON.stringify(await read(global, '/meshes/default/dataplanes/_overview'));
  await expect.poll(unknown, LONG_WAIT).toMatch(/"insightUnknown":"[^"]*kuma-1/);

  // kuma-dp deletes its Dataplane when it stops.
  await proxy.stop();
  await expect.poll(counted, LONG_WAIT).toEqual({});
  expect((await readTable(global)).filter(({ type }) => type === 'DataplaneInsight')).toEqual([]);
});

// Kuma gives the namespace to the Dataplane alone: the insight has another name.
it.each(['all', 'counts'] as const)('sees a proxy of a Kuma zone with a namespace online, with insights: %s', async (kept) => {
  if (inject('envoy') === '') throw new Error(NO_ENVOY);
  const [kds, proxies] = [await freePort(), await freePort()];
  const global = await globalThatKeeps(kept, kds);
  const zone = await kumaZone(kds, proxies);
  await expect.poll(() => isOnline(global, 'kuma-1'), LONG_WAIT).toBe(true);
  await startProxy(zone, proxies, { 'k8s.kuma.io/namespace': 'ns' });
  const counted = async (): Promise<unknown> => (await read(global, '/mesh-insights/default'))['dataplanes'];
  await expect.poll(counted, LONG_WAIT).toEqual({ total: 1, online: 1 });
  const overview = async (): Promise<string> => JSON.stringify(await read(global, '/meshes/default/dataplanes/_overview'));
  await expect.poll(overview, LONG_WAIT).toContain(kept === 'all' ? '"connectTime"' : '"insightUnknown"');
});
