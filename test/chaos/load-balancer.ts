// The Envoy of examples/replicas before the replicas of a global in a test: the file as it is, with other addresses.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { vi } from 'vitest';
import { parse } from 'yaml';
import { endWithTest } from '../support/children.ts';
import { freePort } from '../support/free-port.ts';
import { WAIT } from '../support/wait.ts';

const EXAMPLE = join(import.meta.dirname, '../../examples/replicas/envoy.yaml');

/** Ports of one replica on 127.0.0.1. */
export type ReplicaPorts = { readonly kds: number; readonly diagnostics: number };

export type LoadBalancer = { readonly address: string; readonly stop: () => Promise<void> };

/** The example with these replicas and this port. */
async function balancerConfig(replicas: readonly ReplicaPorts[], port: number): Promise<object> {
  const config = parse(await readFile(EXAMPLE, 'utf8')) as {
    static_resources: { listeners: { address: object }[]; clusters: { load_assignment: object }[] };
  };
  const at = (port_value: number): object => ({ socket_address: { address: '127.0.0.1', port_value } });
  const [listener] = config.static_resources.listeners;
  const [cluster] = config.static_resources.clusters;
  if (listener === undefined || cluster === undefined) throw new Error(`${EXAMPLE} has no listener or no cluster`);
  listener.address = at(port);
  const lb_endpoints = replicas.map(({ kds, diagnostics }) => ({
    endpoint: { address: at(kds), health_check_config: { port_value: diagnostics } },
  }));
  cluster.load_assignment = { cluster_name: 'global', endpoints: [{ lb_endpoints }] };
  return config;
}

/** @param envoy path of the program */
export async function startLoadBalancer(envoy: string, replicas: readonly ReplicaPorts[]): Promise<LoadBalancer> {
  const port = await freePort();
  const folder = await mkdtemp(join(tmpdir(), 'meridian-balancer-'));
  const file = join(folder, 'envoy.json');
  await writeFile(file, JSON.stringify(await balancerConfig(replicas, port)));
  const args = ['-c', file, '--disable-hot-restart', '--concurrency', '1', '--log-level', 'error'];
  const child = endWithTest(spawn(envoy, args, { stdio: ['ignore', 'ignore', 'inherit'] }));
  const stop = async (): Promise<void> => {
    const ended = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : null;
    child.kill('SIGKILL');
    await ended;
    await rm(folder, { recursive: true });
  };
  await vi.waitFor(() => accepts(port), WAIT);
  return { address: `127.0.0.1:${String(port)}`, stop };
}

async function accepts(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect').finally(() => socket.destroy());
}
