// The commands with a store, `global run`, `zone run` and `migrate`: reads their configuration from flags, and runs a control plane
// until it is stopped. Modules of a control plane are loaded late, because other commands are short.
import { Option, type Command } from 'commander';
import { systemClock, type Clock } from '../base/clock.ts';
import type { Config } from '../base/config.ts';
import { MeridianError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { collect } from './options.ts';

/** Flags for frequent keys; `--set` sets every other key. */
const FLAGS = {
  'apiServer.http.port': ['--api-port <port>', 'port of the REST API (5681)'],
  'diagnostics.serverPort': ['--diagnostics-port <port>', 'port of /healthy, /ready and /metrics (5680)'],
  'store.type': ['--store <type>', 'embedded or postgres (embedded)'],
  'store.embedded.path': ['--store-path <folder>', 'folder of the embedded store'],
  'log.level': ['--log-level <level>', 'silent, error, warn, info or debug (info)'],
} as const;
const FLAGS_OF: Record<Mode, Readonly<Record<string, readonly [flag: string, about: string]>>> = {
  global: { ...FLAGS, 'multizone.global.kds.grpcPort': ['--kds-port <port>', 'port that zones connect to (5685)'] },
  zone: {
    ...FLAGS,
    'multizone.zone.name': ['--name <zone>', 'name of the zone (default)'],
    'multizone.zone.globalAddress': [
      '--global-address <url>',
      'grpcs://HOST:PORT of global; without it the zone runs on its own',
    ],
    'dpServer.port': ['--dp-port <port>', 'port that proxies connect to (5678)'],
    'multizone.zone.kds.auth.tokenFile': ['--token-file <file>', 'token for global, from `meridian generate zone-token`'],
  },
};

type Mode = 'global' | 'zone';
export type ConfigOptions = Readonly<Record<string, unknown>> & { readonly config?: string; readonly set?: readonly string[] };

/** The options of a command that reads the configuration of a control plane. */
export function addConfigOptions(command: Command, mode: Mode): Command {
  command.option('--config <file>', 'YAML file with the configuration');
  for (const [flag, about] of Object.values(FLAGS_OF[mode])) command.option(flag, about);
  return command.option('--set <key=value>', 'any key of the configuration; may be given again', collect);
}

/** The configuration from these options, the environment and the file. */
export async function configOf(mode: Mode, options: ConfigOptions): Promise<{ config: Config; warnings: string[] }> {
  const flags: Record<string, string> = {};
  for (const [path, [flag]] of Object.entries(FLAGS_OF[mode])) {
    const given = options[new Option(flag).attributeName()];
    if (typeof given === 'string') flags[path] = given;
  }
  for (const pair of options.set ?? []) {
    const [key = '', ...value] = pair.split('=');
    flags[key] = value.join('=');
  }
  const { loadConfig } = await import('../base/config.ts');
  return loadConfig({ mode, env: process.env, flags, file: options.config ?? (process.env['MERIDIAN_CONFIG'] || undefined) });
}

/**
 * Milliseconds after which a process that was asked to stop is ended. Kubernetes kills it after 30 s, which logs nothing. The parts
 * of a stop have limits of 20 s together (`src/control-plane/host.ts`); this covers the rest, such as a start that does not end.
 */
export const MAX_STOP_MS = 25_000;
/** The limit in milliseconds from the moment when everything has ended and is stored. */
const MAX_EXIT_MS = 2_000;

/** Runs a control plane until SIGINT or SIGTERM; a second signal ends the process at once. */
export async function runUntilStopped(mode: Mode, options: ConfigOptions): Promise<void> {
  const { config, warnings } = await configOf(mode, options);
  writeForOwnerAlone();
  const [{ createLogger }, { logWarnings }] = await Promise.all([import('../base/log.ts'), import('../base/log-warnings.ts')]);
  const log = createLogger(config.log.level, { mode, ...(mode === 'zone' && { zone: config.multizone.zone.name }) });
  logWarnings(log);
  endOnUncaught(process, log, () => process.exit(1));
  for (const warning of warnings) log.warn(warning);
  const clock = systemClock;
  const drainMs = mode === 'global' ? config.multizone.global.kds.drainTime : 0;
  const ending = { clock, log, exit: () => process.exit(process.exitCode ?? 1) };
  const stop = new AbortController();
  let signals = 0;
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      signals += 1;
      if (signals > 1) process.exit(1);
      log.info({ signal: name }, 'stopping; a second signal stops at once');
      stop.abort();
      exitAfter(MAX_STOP_MS + drainMs, ending);
    });
  }
  const { run } = mode === 'global' ? await import('../global/run.ts') : await import('../zone/run.ts');
  await run(config, { clock, log, signal: stop.signal })
    .catch((error: unknown) => explainDatabase(error, config.store))
    .finally(() => exitAfter(MAX_EXIT_MS, ending));
}

/** Node would print the error with all its fields: those of a database hold rows, with the data of secrets. */
export function endOnUncaught(events: Pick<NodeJS.EventEmitter, 'on'>, log: Logger, exit: () => void): void {
  events.on('uncaughtException', (error: unknown) => {
    log.error({ err: error }, 'an unexpected error ends this process');
    exit();
  });
}

/** Ends a process that something still keeps alive after `ms` milliseconds, and logs what. */
export function exitAfter(
  ms: number,
  { clock, log, exit }: { readonly clock: Pick<Clock, 'after'>; readonly log: Logger; readonly exit: () => void },
): void {
  clock.after(ms, () => {
    const resources = [...new Set(process.getActiveResourcesInfo())];
    log.error({ seconds: ms / 1_000, resources }, 'the process did not end by itself and is ended');
    exit();
  });
}

/** Sets the umask: no other user of the machine can read the files of a process with a store. */
export function writeForOwnerAlone(): void {
  process.umask(0o077);
}

/** @throws MeridianError `unavailable` (exit code 4) when the database does not answer, else the original error */
export async function explainDatabase(error: unknown, store: Config['store']): Promise<never> {
  const { isNoAnswer } = await import('../store/pg-errors.ts');
  const refusal = store.type === 'postgres' ? refusalOf(error, store) : null;
  if (refusal !== null) throw new MeridianError('config', refusal, { cause: error });
  const cause = [error, (error as { cause?: unknown } | undefined)?.cause].find((one) => isNoAnswer(one));
  if (store.type !== 'postgres' || cause === undefined) throw error;
  const where = `${store.host}:${String(store.port)} (store.postgres.host, .port)`;
  // An error about several refused addresses has no message.
  const why = messageOf(cause) || String((cause as { code?: unknown }).code);
  throw new MeridianError('unavailable', `cannot reach PostgreSQL at ${where}: ${why}; is it running?`, { cause });
}

/**
 * The error for an unknown role, a wrong password and a missing database, with a remedy; null for any other error of PostgreSQL.
 */
function refusalOf(error: unknown, store: Config['store'] & { type: 'postgres' }): string | null {
  const { host, port, user, dbName } = store;
  for (const one of [error, (error as { cause?: unknown } | undefined)?.cause]) {
    const at = `PostgreSQL at ${host}:${String(port)}`;
    switch ((one as { code?: unknown } | undefined)?.code) {
      case '28P01':
      case '28000':
        return (
          `${at} refuses the role ${JSON.stringify(user)} (store.postgres.user, .password): ${messageOf(one)}. ` +
          `If there is no such role, create it there: createuser --pwprompt ${user}`
        );
      case '3D000':
        return `${at} has no database ${JSON.stringify(dbName)} (store.postgres.dbName). Create it there: createdb --owner ${user} ${dbName}`;
      default:
    }
  }
  return null;
}
