// Network namespaces for tests. Each has an interface `eth0`, a default route to the other end of it, a loopback, and a resolv.conf of its
// own. The other end is on this machine, or in another namespace. A file that needs one ends with `.netns.e2e.test.ts` or
// `.netns.envoy.test.ts`; it is left out where namespaces are impossible.
import { execFileSync, spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { endWithTest } from './children.ts';
import type { Outcome } from './run-meridian.ts';

type NamespaceOptions = {
  /** Its `/etc/resolv.conf`; by default the nameserver is the other end of `eth0`. */
  readonly resolvConf?: string;
  /** Its `/etc/passwd`; by default that of this machine. */
  readonly passwd?: string;
  /** The namespace that has the other end of `eth0`, and forwards between all that it has; by default this machine, which forwards nothing. */
  readonly router?: Namespace;
};

type ProcessOptions = {
  /** It keeps the right to read all files: programs of the tests are in folders of root. */
  readonly uid?: number;
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** Standard input of `run`. */
  readonly input?: string;
};

/** Two addresses of 198.18.0.0/15, which RFC 2544 keeps for tests, for each namespace. */
const NETWORKS = 32_768;
const MAX_ATTEMPTS = 100;

const live = new Set<Namespace>();

export class Namespace {
  /** As `ip netns` knows it. */
  readonly name: string;
  /** IPv4 and IPv6 of the namespace. */
  readonly address: string;
  readonly address6: string;
  /** IPv4 and IPv6 of the other end of `eth0`. */
  readonly gateway: string;
  readonly gateway6: string;
  readonly #router: Namespace | null;
  readonly #children = new Set<ChildProcessWithoutNullStreams>();

  private constructor(network: number, router: Namespace | null) {
    this.name = `meridian-${String(network)}`;
    const [high, low] = [18 + (network >> 14), (network & 0x3f_ff) << 2];
    const prefix = `198.${String(high)}.${String(low >> 8)}`;
    this.gateway = `${prefix}.${String((low & 0xff) + 1)}`;
    this.address = `${prefix}.${String((low & 0xff) + 2)}`;
    this.gateway6 = `fd98:18:${network.toString(16)}::1`;
    this.address6 = `fd98:18:${network.toString(16)}::2`;
    this.#router = router;
  }

  /** It goes with the test that made it. */
  static create(options: NamespaceOptions = {}): Namespace {
    const namespace = Namespace.open(options);
    onTestFinished(() => namespace.close());
    return namespace;
  }

  /** It goes with `close`, or with the process. */
  static open({ resolvConf, passwd, router }: NamespaceOptions = {}): Namespace {
    const namespace = Namespace.#take(router ?? null);
    if (live.size === 0) process.on('exit', closeAll);
    live.add(namespace);
    try {
      namespace.#connect();
      mkdirSync(namespace.#folder, { recursive: true });
      namespace.writeResolvConf(resolvConf ?? `nameserver ${namespace.gateway}\n`);
      if (passwd !== undefined) writeFileSync(join(namespace.#folder, 'passwd'), passwd);
      return namespace;
    } catch (error) {
      namespace.close();
      throw error;
    }
  }

  /** Programs that run see it too. */
  writeResolvConf(text: string): void {
    writeFileSync(join(this.#folder, 'resolv.conf'), text);
  }

  /** Runs a program to its end. A failure is an outcome, not an error. */
  async run(program: string, args: readonly string[] = [], options: ProcessOptions = {}): Promise<Outcome> {
    const child = this.spawn(program, args, options);
    child.stdin.on('error', () => undefined);
    child.stdin.end(options.input ?? '');
    const closed = once(child, 'close') as Promise<[number | null]>;
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
    return { code, stdout, stderr };
  }

  /** The standard output of a program. @throws Error with all that it printed when it fails */
  async outputOf(program: string, args: readonly string[] = [], options: ProcessOptions = {}): Promise<string> {
    const { code, stdout, stderr } = await this.run(program, args, options);
    if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${String(code)}\n${stderr}${stdout}`);
    return stdout;
  }

  /** Starts a program that lasts. Its process id is that of the program. It ends with the namespace at the latest. */
  spawn(program: string, args: readonly string[] = [], { uid, env, cwd }: ProcessOptions = {}): ChildProcessWithoutNullStreams {
    const asUser = uid === undefined ? [] : ['setpriv', ...userArgs(uid)];
    const child = spawn('ip', ['netns', 'exec', this.name, ...asUser, program, ...args], { env: env ?? process.env, cwd });
    this.#children.add(child);
    child.once('exit', () => this.#children.delete(child));
    return endWithTest(child);
  }

  /** Ends its processes, and removes all that is there for it. */
  close(): void {
    if (!live.delete(this)) return;
    if (live.size === 0) process.off('exit', closeAll);
    for (const child of this.#children) child.kill('SIGKILL');
    // Those that its processes started, such as the Envoy of a launcher.
    quietly(() => {
      for (const pid of this.#pids()) process.kill(pid, 'SIGKILL');
    });
    quietly(() => this.#atRouter('link', 'del', this.#routerEnd));
    quietly(() => ip('netns', 'del', this.name));
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** The processes that run in it. */
  #pids(): number[] {
    const listed = execFileSync('ip', ['netns', 'pids', this.name], { encoding: 'utf8' });
    return listed.split('\n').flatMap((pid) => (pid === '' ? [] : [Number(pid)]));
  }

  /** The name of a new namespace is its lock: `ip` refuses one that is there. */
  static #take(router: Namespace | null): Namespace {
    const first = Math.floor(Math.random() * NETWORKS);
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const namespace = new Namespace((first + attempt) % NETWORKS, router);
      const isOwn = quietly(() => ip('netns', 'add', namespace.name)) === null;
      if (isOwn) return namespace;
    }
    throw new Error(`${String(MAX_ATTEMPTS)} names of network namespaces are in use: see \`ip netns list\``);
  }

  #connect(): void {
    const end = this.#routerEnd;
    const here = ['-n', this.name];
    this.#atRouter('link', 'add', end, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', this.name);
    this.#atRouter('address', 'add', `${this.gateway}/30`, 'dev', end);
    this.#atRouter('address', 'add', `${this.gateway6}/64`, 'dev', end, 'nodad');
    this.#atRouter('link', 'set', end, 'up');
    ip(...here, 'link', 'set', 'lo', 'up');
    ip(...here, 'address', 'add', `${this.address}/30`, 'dev', 'eth0');
    ip(...here, 'address', 'add', `${this.address6}/64`, 'dev', 'eth0', 'nodad');
    ip(...here, 'link', 'set', 'eth0', 'up');
    ip(...here, 'route', 'add', 'default', 'via', this.gateway);
    ip(...here, '-6', 'route', 'add', 'default', 'via', this.gateway6);
    if (this.#router !== null)
      ip('netns', 'exec', this.#router.name, 'sysctl', '-qw', 'net.ipv4.ip_forward=1', 'net.ipv6.conf.all.forwarding=1');
  }

  #atRouter(...args: readonly string[]): void {
    ip(...(this.#router === null ? [] : ['-n', this.#router.name]), ...args);
  }

  /** At most 15 characters. */
  get #routerEnd(): string {
    return this.name.replace('meridian-', 'mrd-');
  }

  /** `ip netns exec` mounts its files over those of /etc. */
  get #folder(): string {
    return join('/etc/netns', this.name);
  }
}

function userArgs(uid: number): string[] {
  const id = String(uid);
  const right = '+dac_read_search';
  return [`--reuid=${id}`, `--regid=${id}`, '--clear-groups', `--inh-caps=${right}`, `--ambient-caps=${right}`];
}

function ip(...args: readonly string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}

/** Null, or the error. */
function quietly(work: () => void): unknown {
  try {
    work();
    return null;
  } catch (error) {
    return error;
  }
}

function closeAll(): void {
  for (const namespace of live) namespace.close();
}
