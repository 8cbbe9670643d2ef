// A zone as a process, with an embedded store: on its own, or with a global. Files of one worker share one that is on its own; each
// has a mesh of its own in it.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, inject, vi } from 'vitest';
import { endWithTest } from '../support/children.ts';
import { globalEnv, zoneEnv } from '../support/control-plane-env.ts';
import { MERIDIAN } from '../support/control-plane.ts';
import { embeddedFolder } from '../support/embedded-store.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { freePort } from '../support/free-port.ts';

/** Which control plane a process is. */
type Role = { readonly name: string; readonly command: 'global' | 'zone'; readonly env: Readonly<Record<string, string>> };

const ALONE: Role = { name: 'east', command: 'zone', env: {} };

export class ZoneProcess {
  readonly name: string;
  readonly #role: Role;
  readonly #ports: { readonly api: number; readonly diagnostics: number; readonly proxies: number };
  readonly #folder: string;
  readonly #store: string;
  #child: ChildProcess | null = null;

  private constructor(role: Role, ports: { api: number; diagnostics: number; proxies: number }, folder: string, store: string) {
    this.name = role.name;
    this.#role = role;
    this.#ports = ports;
    this.#folder = folder;
    this.#store = store;
  }

  /** Starts one and waits until it is ready. It ends with the process of the test, or by `stop`. */
  static async start(role = ALONE): Promise<ZoneProcess> {
    const ports = { api: await freePort(), diagnostics: await freePort(), proxies: await freePort() };
    const folder = await mkdtemp(join(inject('embeddedFolder'), 'zone-'));
    const zone = new ZoneProcess(role, ports, folder, await embeddedFolder());
    await zone.restart();
    return zone;
  }

  /** Starts a global and its zones. They end with the process of the test, or by `stop`. */
  static async startFleet(zones: readonly string[]): Promise<ZoneProcess[]> {
    const kds = await freePort();
    const env = { ...globalEnv(kds), MERIDIAN_MULTIZONE_GLOBAL_KDS_AUTH_TYPE: 'none' };
    const ofZone = (name: string): Role => ({ name, command: 'zone', env: zoneEnv(name, `127.0.0.1:${String(kds)}`) });
    return await Promise.all(
      [{ name: 'global', command: 'global' as const, env }, ...zones.map(ofZone)].map((role) => ZoneProcess.start(role)),
    );
  }

  /** Of the port for proxies. */
  get url(): string {
    return `https://localhost:${String(this.#ports.proxies)}`;
  }

  /** PEM of the certificate of the port for proxies. */
  async ca(): Promise<string> {
    return await readFile(join(this.#folder, this.name, 'dp-server/cert.pem'), 'utf8');
  }

  async restart(): Promise<void> {
    await this.stop();
    const { api, diagnostics, proxies } = this.#ports;
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('MERIDIAN_'));
    const ports = ['--api-port', String(api), '--diagnostics-port', String(diagnostics)];
    const { command, env: own } = this.#role;
    const args = [
      command,
      'run',
      ...(command === 'zone' ? ['--name', this.name] : []),
      ...ports,
      '--store-path',
      this.#store,
      '--log-level',
      'silent',
    ];
    const env = {
      ...Object.fromEntries(inherited),
      ...own,
      MERIDIAN_GENERAL_WORK_DIR: this.#folder,
      MERIDIAN_DP_SERVER_PORT: String(proxies),
      MERIDIAN_DP_SERVER_INTERFACE: 'localhost',
      MERIDIAN_DP_SERVER_AUTHN_DP_PROXY_TYPE: 'none',
    };
    this.#child = endWithTest(spawn(MERIDIAN, args, { env, stdio: ['ignore', 'ignore', 'inherit'] }));
    await vi.waitFor(async () => expect(await this.#isReady()).toBe(true));
  }

  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }

  /** @throws Error with the answer of the API when it is no success */
  async send(method: 'PUT' | 'POST' | 'DELETE', path: string, body?: object): Promise<void> {
    const url = `http://127.0.0.1:${String(this.#ports.api)}${path}`;
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(url, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${String(answer.status)} ${text}`);
  }

  /** A resource as the API gives it. */
  async read(path: string): Promise<JsonObject> {
    const answer = await fetch(`http://127.0.0.1:${String(this.#ports.api)}${path}`);
    if (!answer.ok) throw new Error(`GET ${path}: ${String(answer.status)}`);
    return (await answer.json()) as JsonObject;
  }

  async #isReady(): Promise<boolean> {
    const { status } = await fetch(`http://127.0.0.1:${String(this.#ports.diagnostics)}/ready`).catch(() => ({ status: 0 }));
    return status === 200;
  }
}

let shared: Promise<ZoneProcess> | undefined;

/** The zone of this worker, which all its files share. */
export async function sharedZone(): Promise<ZoneProcess> {
  return await (shared ??= ZoneProcess.start());
}
