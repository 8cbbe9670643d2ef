// `meridian dataplane run`: an Envoy for one Dataplane, configured by a zone control plane.
import { InvalidArgumentError, Option, type Command } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { parseGoDuration } from '../../base/duration.ts';
import { MeridianError } from '../../base/errors.ts';
import type { JsonObject } from '../../resource/types.ts';
import { EXIT, UsageError } from '../exit-codes.ts';
import { collect } from '../options.ts';
import { note } from '../output.ts';
import { prepareRun } from '../documents/redirected-run.ts';
import { stopSignals } from '../stop-signals.ts';

type Options = {
  readonly cpAddress?: readonly string[];
  readonly caCertFile?: string;
  readonly dataplaneFile?: string;
  readonly dataplaneVar?: readonly string[];
  readonly dataplaneToken?: string;
  readonly dataplaneTokenFile?: string;
  readonly name?: string;
  readonly mesh?: string;
  readonly transparentProxy?: boolean;
  readonly transparentProxyConfig?: string;
  readonly user?: string;
  readonly envoy?: string;
  readonly binaryPath?: string;
  readonly envoyLogLevel: string;
  readonly envoyComponentLogLevel?: string;
  readonly concurrency?: number;
  readonly readinessPort?: number;
  readonly adminPort?: number;
  readonly dnsPort?: number;
  readonly drainTime?: number;
  readonly workDir?: string;
  readonly configDir?: string;
  readonly logLevel: LogLevel;
};
type LogLevel = (typeof LOG_LEVELS)[number];

const DEFAULT_CP_ADDRESS = 'https://localhost:5678';
const DEFAULT_READINESS_PORT = 9_902;
const DEFAULT_DRAIN_MS = 30_000;
const MAX_DRAIN_MS = 3_600_000;
/** Time for the files of the work folder to go after the second signal. */
const MAX_KILL_MS = 2_000;

const LOG_LEVELS = ['silent', 'error', 'warn', 'info', 'debug'] as const;
const ENVOY_LEVELS = ['trace', 'debug', 'info', 'warning', 'error', 'critical', 'off'] as const;

const HELP = `
The Dataplane comes from a file, and then comes and goes with this command; or
it is one that exists, named by --name and --mesh. Envoy is the one of --envoy,
of MERIDIAN_ENVOY, of PATH, or of \`meridian dataplane install-envoy\`.

With --transparent-proxy the Dataplane gets the ports of the redirection, and
the proxy runs as the user whose connections are not redirected. If root starts
it, it becomes this user, who must be able to read the token and the CA, and to
run the Envoy: the one of root's home folder is not found.

It runs until SIGINT or SIGTERM. Then it drains for --drain-time and stops; a
second signal stops it at once. GET /ready on the readiness port is 200 while
requests may come.

Examples:
  meridian generate dataplane-token --mesh shop --valid-for 720h > cart.token
  meridian dataplane run --cp-address https://east.example:5678 \\
    --ca-cert-file east.pem -d cart.yaml --dataplane-token-file cart.token
  meridian dataplane run -d cart.yaml --dataplane-var address=10.0.0.7
  meridian dataplane run -d cart.yaml --transparent-proxy --user meridian
  meridian dataplane run --mesh shop --name cart-1 --drain-time 5s`;

export function addDataplaneRun(dataplane: Command): void {
  const command = dataplane.command('run').description('run an Envoy for a Dataplane until it is stopped');
  const add = (flags: string, about: string, parse?: (value: string, before?: unknown) => unknown): void => {
    const option = named(new Option(flags, about));
    command.addOption(parse === undefined ? option : option.argParser(parse));
  };
  command.optionsGroup('Dataplane:');
  add('-d, --dataplane-file <file>', 'its document; - is standard input');
  command.option('-v, --dataplane-var <name=value>', 'the value of {{ name }} in the file; may be repeated', collect);
  add('--name <name>', 'name of one that exists');
  add('--mesh <mesh>', 'its mesh (default)');
  command.optionsGroup('Transparent proxy:');
  add('--transparent-proxy', 'take the connections that `meridian install transparent-proxy` redirects');
  command.option('--transparent-proxy-config <file>', 'settings file of that command');
  add('--user <user>', 'user of the proxy, which root becomes; wins over the file (meridian)');
  command.optionsGroup('Control plane:');
  add('--cp-address <url>', `a zone; again or with commas for replicas (${DEFAULT_CP_ADDRESS})`, addresses);
  add('--ca-cert-file <file>', 'CA of its certificate, or the certificate itself');
  add('--dataplane-token-file <file>', 'token of `meridian generate dataplane-token`');
  add('--dataplane-token <token>', 'the token itself; other users may see it');
  command.optionsGroup('Envoy:');
  command.option('--envoy <file>', 'the program (MERIDIAN_ENVOY)');
  command.addOption(new Option('--binary-path <file>', 'the same, as kuma-dp calls it').hideHelp());
  add('--concurrency <number>', 'worker threads (one a core)', wholeNumber(1, 1_024));
  command.addOption(named(new Option('--envoy-log-level <level>')).choices(ENVOY_LEVELS).default('warning'));
  command.option('--envoy-component-log-level <list>', 'as upstream:debug,http:trace');
  command.optionsGroup('Options:');
  add('--readiness-port <port>', 'GET /ready on 127.0.0.1; 0 is any free port (9902)', wholeNumber(0, 65_535));
  add('--admin-port <port>', "read Envoy's admin pages on 127.0.0.1 (no port)", wholeNumber(0, 65_535));
  add('--dns-port <port>', 'DNS on 127.0.0.1 and ::1; 0 is none (15053 if redirected)', wholeNumber(0, 65_535));
  add('--drain-time <duration>', 'from the signal to the end (30s)', milliseconds);
  add('--work-dir <folder>', 'for the bootstrap and sockets (in ~/.meridian)');
  command.addOption(new Option('--config-dir <folder>', 'the same, as kuma-dp calls it').hideHelp());
  command.addOption(named(new Option('--log-level <level>', 'of this command')).choices(LOG_LEVELS).default('info'));
  command.addHelpText('after', HELP).action(runDataplane);
}

/** Adds its variable of the environment: `--drain-time` is MERIDIAN_DATAPLANE_DRAIN_TIME. */
function named(option: Option): Option {
  const word = option.name().replaceAll('-', '_').toUpperCase();
  return option.env(`MERIDIAN_DATAPLANE_${word.replace(/^DATAPLANE_/, '')}`);
}

function addresses(value: string, before: unknown): readonly string[] {
  return value
    .split(',')
    .reduce((all: readonly string[], one) => collect(one.trim(), all), (before as readonly string[] | undefined) ?? []);
}

function wholeNumber(least: number, most: number): (value: string) => number {
  return (value) => {
    const number = /^\d{1,6}$/.test(value) ? Number(value) : NaN;
    if (number >= least && number <= most) return number;
    throw new InvalidArgumentError(`It must be a whole number from ${String(least)} to ${String(most)}.`);
  };
}

function milliseconds(value: string): number {
  const found = parseGoDuration(value);
  if (found !== null && found >= 0 && found <= MAX_DRAIN_MS) return found;
  throw new InvalidArgumentError('It must be a duration such as 30s or 1m, of one hour at most.');
}

async function runDataplane(options: Options, command: Command): Promise<void> {
  const { findEnvoy, NO_ENVOY, noEnvoyFor } = await import('../../dataplane/find-envoy.ts');
  const { parseControlPlaneAddress } = await import('../../dataplane/control-plane-address.ts');
  const controlPlanes = (options.cpAddress ?? [DEFAULT_CP_ADDRESS]).map(parseControlPlaneAddress);
  if (options.dataplaneToken !== undefined && options.dataplaneTokenFile !== undefined)
    throw new UsageError('give --dataplane-token or --dataplane-token-file, not both');
  if (command.getOptionValueSource('dataplaneToken') === 'cli')
    note('warning: other users of this machine can see --dataplane-token; --dataplane-token-file is safer');
  const { createLogger } = await import('../../base/log.ts');
  const { runProxy } = await import('../../dataplane/run-proxy.ts');
  // The user of a transparent proxy may not be able to read the modules of this program.
  const { followNames } = options.transparentProxy === true ? await import('../../dataplane/name-stream.ts') : {};
  const chosen = await proxyOf(options);
  const proxy = { ...chosen, ...(await prepare(options, chosen)) };
  const envoy = await findEnvoy({ option: options.envoy ?? options.binaryPath, env: process.env });
  if (envoy === null) throw new MeridianError('config', proxy.user === null ? NO_ENVOY : noEnvoyFor(proxy.user));
  const log = createLogger(options.logLevel, { mode: 'dataplane', mesh: proxy.mesh, dataplane: proxy.name });
  const { stop, kill } = untilSignals();
  await runProxy(
    {
      ...proxy,
      followStream: followNames,
      controlPlanes,
      program: envoy.path,
      token: { token: options.dataplaneToken, file: options.dataplaneTokenFile },
      caFile: options.caCertFile,
      readinessPort: options.readinessPort ?? DEFAULT_READINESS_PORT,
      adminPort: options.adminPort ?? null,
      dnsPort: options.dnsPort ?? proxy.dnsPort,
      logLevel: options.envoyLogLevel,
      componentLogLevel: options.envoyComponentLogLevel ?? '',
      concurrency: options.concurrency ?? null,
      drainMs: options.drainTime ?? DEFAULT_DRAIN_MS,
    },
    { clock: systemClock, log, stop, kill },
  );
}

/** The Dataplane and the folder of the proxy; this process may become one of another user. */
async function prepare(options: Options, { mesh, name, dataplane }: ChosenDataplane): ReturnType<typeof prepareRun> {
  const { defaultWorkFolder } = await import('../../dataplane/work-folder.ts');
  const given = options.workDir ?? options.configDir;
  return await prepareRun(options, { dataplane, workFolder: (home) => given ?? defaultWorkFolder(mesh, name, home) });
}

type ChosenDataplane = {
  readonly mesh: string;
  readonly name: string;
  readonly storedName: string;
  readonly dataplane: JsonObject | null;
};

/** @throws UsageError when neither a file nor a name is given, or both say different things */
async function proxyOf({ dataplaneFile, dataplaneVar = [], name, mesh }: Options): Promise<ChosenDataplane> {
  if (dataplaneFile === undefined) {
    if (name === undefined) throw new UsageError('give --dataplane-file FILE, or --name NAME of a Dataplane that exists');
    if (dataplaneVar.length > 0) throw new UsageError('--dataplane-var is for --dataplane-file');
    return { mesh: mesh ?? 'default', name, storedName: name, dataplane: null };
  }
  const { readDataplane, readVariables } = await import('../documents/dataplane-document.ts');
  const read = await readDataplane(dataplaneFile, readVariables(dataplaneVar));
  for (const warning of read.warnings) note(`warning: ${warning}`);
  for (const [option, given, own] of [
    ['--name', name, read.name],
    ['--mesh', mesh, read.mesh],
  ] as const)
    if (given !== undefined && given !== own)
      throw new UsageError(`${option} says ${given}, and the file ${own}: leave ${option} out, or give no file`);
  const { document, mesh: inMesh, name: own, storedName } = read;
  return { mesh: inMesh, name: own, storedName, dataplane: document };
}

/** The first signal drains, the second ends everything at once and leaves no file, the third does not wait for that. */
function untilSignals(): { stop: AbortSignal; kill: AbortSignal } {
  const stop = new AbortController();
  const kill = new AbortController();
  for (const name of stopSignals)
    process.on(name, () => {
      if (kill.signal.aborted) process.exit(EXIT.failed);
      if (stop.signal.aborted) {
        process.exitCode = EXIT.failed;
        kill.abort();
        setTimeout(() => process.exit(EXIT.failed), MAX_KILL_MS).unref();
      }
      stop.abort();
    });
  return { stop: stop.signal, kill: kill.signal };
}
