// A real kuma-dp as a process of a test, at a control plane of Meridian.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { inject } from 'vitest';
import { endWithTest } from '../support/children.ts';
import { freePort } from '../support/free-port.ts';
import { peerProgram } from './peers-folder.ts';

export type KumaDpOptions = {
  /** Address of the port for proxies. */
  readonly url: string;
  /** File with the certificate of that port. */
  readonly ca: string;
  readonly envoy: string;
  readonly workDir: string;
  /** What a test gives beside it. */
  readonly flags: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
};

export class KumaDp {
  readonly ended: Promise<number | null>;
  readonly #readinessPort: string;
  readonly #end: () => boolean;
  #output = '';

  private constructor(readinessPort: string, child: ReturnType<typeof spawn>) {
    this.#readinessPort = readinessPort;
    this.#end = () => child.kill('SIGTERM');
    this.ended = once(child, 'exit').then(([code]) => code as number | null);
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (bytes: Buffer) => (this.#output += bytes.toString()));
  }

  static async start({ url, ca, envoy, workDir, flags, env = {} }: KumaDpOptions): Promise<KumaDp> {
    const readinessPort = String(await freePort());
    const own = [`--cp-address=${url}`, `--ca-cert-file=${ca}`, `--binary-path=${envoy}`, `--work-dir=${workDir}`];
    const all = {
      PATH: process.env['PATH'],
      KUMA_READINESS_PORT: readinessPort,
      KUMA_DATAPLANE_DRAIN_TIME: '1ms',
      ...env,
    };
    const program = peerProgram(inject('peersFolder'), 'kuma-dp');
    return new KumaDp(readinessPort, endWithTest(spawn(program, ['run', ...own, ...flags], { env: all, stdio: 'pipe' })));
  }

  get output(): string {
    return this.#output;
  }

  /** The answer of its readiness port, such as `200 LIVE`; `''` while nothing listens. */
  async ready(): Promise<string> {
    return await fetch(`http://127.0.0.1:${this.#readinessPort}/ready`).then(
      async (answer) => `${String(answer.status)} ${(await answer.text()).trim()}`,
      () => '',
    );
  }

  async stop(): Promise<void> {
    this.#end();
    await this.ended;
  }
}
