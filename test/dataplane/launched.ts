// `meridian dataplane run` as a process of a test, with what it logs.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';
import { endWithTest } from '../support/children.ts';
import { freePort } from '../support/free-port.ts';
import type { FakeControlPlane } from './fake-control-plane.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { writeProgram } from './temporary-home.ts';

const MERIDIAN = join(import.meta.dirname, '../../bin/meridian');
const CACHE = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
const FAKE_VERSION = 'fake  version: 0123abc/1.40.0/Clean/RELEASE/BoringSSL';
/** A text of the form of a token. */
export const TOKEN = 'aaaa.bbbb.cccc';

export type LaunchOptions = {
  readonly envoy: string;
  /** In place of `TOKEN`. */
  readonly token?: string;
  /** The document of the file; null for no file. */
  readonly document?: string | null;
  /** Names that an earlier launcher left in the work folder, with their addresses. */
  readonly names?: Readonly<Record<string, readonly string[]>>;
  readonly args?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
};

/** What a launcher leaves of names whose listeners were there. */
export function leftNames(names: Readonly<Record<string, readonly string[]>>): string {
  const recordOf = (addresses: readonly string[]) => ({ version: '1', addresses, places: [], answer: addresses });
  const records = Object.entries(names).map(([name, addresses]) => [name, recordOf(addresses)] as const);
  return JSON.stringify({ names: Object.fromEntries(records) });
}

/** A Dataplane without inbounds of its own protocol, as a document. */
export const DATAPLANE = `type: Dataplane
mesh: shop
name: cart-1
networking:
  address: 127.0.0.1
  inbound:
    - port: 8080
      name: http
      protocol: http
`;

export class Launched {
  readonly folder: string;
  readonly workDir: string;
  readonly readinessPort: number;
  readonly lines: string[] = [];
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown[]>;

  private constructor(folder: string, readinessPort: number, child: ChildProcess) {
    this.folder = folder;
    this.workDir = join(folder, 'work');
    this.readinessPort = readinessPort;
    this.#child = child;
    this.#ended = once(child, 'close');
    for (const stream of [child.stdout, child.stderr])
      if (stream !== null) createInterface({ input: stream }).on('line', (line) => this.lines.push(line));
  }

  /** Starts it with a Dataplane file, a token and a work folder of its own. It ends with the test. */
  static async start(planes: readonly Pick<FakeControlPlane, 'url' | 'ca'>[], options: LaunchOptions): Promise<Launched> {
    const { envoy, args = [], env = {}, token = TOKEN, document = DATAPLANE, names } = options;
    const folder = temporaryFolder();
    const readinessPort = await freePort();
    await writeFile(join(folder, 'dataplane.yaml'), document ?? '');
    await writeFile(join(folder, 'token'), `${token}\n`);
    await writeFile(join(folder, 'ca.pem'), planes.map(({ ca }) => ca).join(''));
    if (names !== undefined) {
      await mkdir(join(folder, 'work'), { mode: 0o700 });
      await writeFile(join(folder, 'work/names.json'), leftNames(names));
    }
    const file = document === null ? [] : ['-d', join(folder, 'dataplane.yaml')];
    const files = [...file, '--dataplane-token-file', join(folder, 'token')];
    const own = ['--ca-cert-file', join(folder, 'ca.pem'), '--work-dir', join(folder, 'work'), '--envoy', envoy];
    const all = [
      ...planes.flatMap(({ url }) => ['--cp-address', url]),
      ...files,
      ...own,
      '--readiness-port',
      String(readinessPort),
      '--drain-time',
      '0s',
    ];
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('MERIDIAN_'));
    const child = endWithTest(
      spawn(MERIDIAN, ['dataplane', 'run', ...all, ...args], {
        // Compiled sources are kept outside of the home folder of the test: each start would compile them again.
        env: { ...Object.fromEntries(inherited), HOME: folder, XDG_CACHE_HOME: CACHE, ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
        // A group of its own, which a test may signal as a terminal does.
        detached: true,
      }),
    );
    const launched = new Launched(folder, readinessPort, child);
    onTestFinished(async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      child.kill('SIGTERM');
      await gone;
    });
    return launched;
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** To each process of its group, as by Ctrl-C at a terminal. */
  signalGroup(name: NodeJS.Signals): void {
    if (this.#child.pid !== undefined) process.kill(-this.#child.pid, name);
  }

  /** Ends it without a chance to end its Envoy, which keeps its output open. */
  async kill(): Promise<void> {
    const gone = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await gone;
  }

  /** As the end of the reader of its standard output. */
  closeStdout(): void {
    this.#child.stdout?.destroy();
  }

  /** The exit code, when it has ended and its output is read. */
  async code(): Promise<number | null> {
    await this.#ended;
    return this.#child.exitCode;
  }

  get log(): string {
    return this.lines.join('\n');
  }

  /** The answer of the readiness port, such as `200 LIVE`; `''` while nothing listens. The log, when it has ended. */
  async ready(): Promise<string> {
    if (this.#child.exitCode !== null) return `ended: ${this.log}`;
    try {
      const answer = await fetch(`http://127.0.0.1:${String(this.readinessPort)}/ready`);
      return `${String(answer.status)} ${(await answer.text()).trim()}`;
    } catch {
      return '';
    }
  }

  async file(name: string): Promise<string> {
    return await readFile(join(this.folder, name), 'utf8');
  }
}

/** A fake Envoy that runs on this Node, and the environment with which it does what `mode` says. */
export async function fakeEnvoy(mode = ''): Promise<{ envoy: string; env: NodeJS.ProcessEnv; log: () => Promise<string> }> {
  const folder = temporaryFolder();
  const script = join(import.meta.dirname, 'fake-envoy.ts');
  // The launcher asks for the version before each start. A Node for that, and one that compiles the script, cost more than the test.
  const envoy = await writeProgram(
    join(folder, 'envoy'),
    `#!/bin/sh
if [ "$1" = --version ]; then exec echo '${FAKE_VERSION}'; fi
NODE_COMPILE_CACHE='${process.env['NODE_COMPILE_CACHE'] ?? ''}' exec "${process.execPath}" "${script}" "$@"
`,
  );
  const file = join(folder, 'log');
  await writeFile(file, '');
  return { envoy, env: { FAKE_ENVOY: mode, FAKE_ENVOY_LOG: file }, log: async () => await readFile(file, 'utf8') };
}
