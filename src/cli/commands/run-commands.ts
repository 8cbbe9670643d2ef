// Commands that start a control plane or prepare its store. What they need is loaded when they run: other commands are short.
import type { Command } from 'commander';
import type { Config } from '../../base/config.ts';
import type { Logger } from '../../base/log.ts';
import { addAcceptPeers } from './zone-accept.ts';
import { explainDatabase } from './explain-database.ts';
import { print } from '../output.ts';
import { table } from '../views/table.ts';

/** Frequent keys as flags of their own; `--set` reaches every other. */
const FLAGS: Record<string, readonly [flag: string, about: string]> = {
  'apiServer.http.port': ['--api-port <port>', 'port of the REST API (5681)'],
  'diagnostics.serverPort': ['--diagnostics-port <port>', 'port of /healthy, /ready and /metrics (5680)'],
  'store.type': ['--store <type>', 'embedded or postgres (embedded)'],
  'store.embedded.path': ['--store-path <folder>', 'folder of the embedded store'],
  'log.level': ['--log-level <level>', 'silent, error, warn, info or debug (info)'],
};
const GLOBAL_FLAGS: typeof FLAGS = {
  'multizone.global.kds.grpcPort': ['--kds-port <port>', 'port that zones connect to (5685)'],
};
const ZONE_FLAGS: typeof FLAGS = {
  'multizone.zone.name': ['--name <zone>', 'name of the zone (default)'],
  'multizone.zone.globalAddress': ['--global-address <url>', 'grpcs://HOST:PORT of global; without it the zone runs on its own'],
  'multizone.zone.kds.auth.tokenFile': ['--token-file <file>', 'what `meridian generate zone-token` printed; shown to global'],
};

type Options = Record<string, string | string[] | undefined>;

export function addRunCommands(program: Command): void {
  const global = program.command('global').description('the global control plane');
  withConfig(global.command('run').description('run a global control plane until it is stopped'), { ...FLAGS, ...GLOBAL_FLAGS })
    .addHelpText(
      'after',
      '\nExamples:\n  meridian global run\n  meridian global run --store postgres --set store.postgres.dbName=global',
    )
    .action(async (options: Options) =>
      runUntilStopped('global', await configOf('global', options, { ...FLAGS, ...GLOBAL_FLAGS })),
    );
  const zone = program.command('zone').description('a zone control plane');
  withConfig(zone.command('run').description('run a zone control plane until it is stopped'), { ...FLAGS, ...ZONE_FLAGS })
    .addHelpText(
      'after',
      '\nExamples:\n  meridian zone run --name east --global-address grpcs://global.example:5685\n  meridian zone run --name alone',
    )
    .action(async (options: Options) => runUntilStopped('zone', await configOf('zone', options, { ...FLAGS, ...ZONE_FLAGS })));
  addAcceptPeers(zone);
  const migrate = program.command('migrate').description('the schema of the store');
  withConfig(migrate.command('up').description('bring the database to the schema of this version'), { ...FLAGS, ...ZONE_FLAGS })
    .addHelpText(
      'after',
      '\nExamples:\n  meridian migrate up --store postgres --set store.postgres.dbName=global\n  meridian migrate up --config global.yaml',
    )
    .action(migrateUp);
  withConfig(migrate.command('status').description('show which migrations are applied'), { ...FLAGS, ...ZONE_FLAGS })
    .addHelpText('after', '\nExamples:\n  meridian migrate status --config global.yaml')
    .action(migrateStatus);
}

function withConfig(command: Command, flags: typeof FLAGS): Command {
  command.option('--config <file>', 'YAML file with the configuration');
  for (const [flag, about] of Object.values(flags)) command.option(flag, about);
  return command.option('--set <key=value>', 'any key of the configuration; may be given again', collect, []);
}

function collect(value: string, before: string[]): string[] {
  return [...before, value];
}

async function configOf(
  mode: 'global' | 'zone',
  options: Options,
  known: typeof FLAGS,
): Promise<{ config: Config; warnings: string[] }> {
  const flags: Record<string, string> = {};
  for (const [path, [flag]] of Object.entries(known)) {
    const given = options[flagName(flag)];
    if (typeof given === 'string') flags[path] = given;
  }
  for (const pair of Array.isArray(options['set']) ? options['set'] : []) {
    const at = pair.indexOf('=');
    flags[at < 0 ? pair : pair.slice(0, at)] = at < 0 ? '' : pair.slice(at + 1);
  }
  const file = typeof options['config'] === 'string' ? options['config'] : process.env['MERIDIAN_CONFIG'];
  const { loadConfig } = await import('../../base/config.ts');
  return loadConfig({ mode, env: process.env, flags, file });
}

/** `--api-port <port>` → `apiPort`, as commander names it. */
function flagName(flag: string): string {
  return (flag.split(' ')[0] ?? '').replace(/^--/, '').replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

async function runUntilStopped(
  mode: 'global' | 'zone',
  { config, warnings }: { config: Config; warnings: string[] },
): Promise<void> {
  writeForOwnerAlone();
  const { createLogger } = await import('../../base/log.ts');
  const log = createLogger(config.log.level, { mode, ...(mode === 'zone' && { zone: config.multizone.zone.name }) });
  for (const warning of warnings) log.warn(warning);
  const stop = new AbortController();
  let signals = 0;
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      signals += 1;
      if (signals > 1) process.exit(1);
      log.info({ signal: name }, 'stopping; a second signal stops at once');
      stop.abort();
    });
  }
  const { run } = mode === 'global' ? await import('../../global/run.ts') : await import('../../zone/run.ts');
  await run(config, { log, signal: stop.signal }).catch((error: unknown) => explainDatabase(error, config.store));
}

/** What a process with a store writes, the embedded one above all, no other user of the machine can read. */
function writeForOwnerAlone(): void {
  process.umask(0o077);
}

async function migrateUp(options: Options): Promise<void> {
  await withDatabase(options, async (database, log) => {
    const { migrate } = await import('../../store/migrate.ts');
    const done = await migrate(database, { log });
    print(done.length === 0 ? 'nothing to do: the schema is the newest' : `applied ${done.join(', ')}`);
  });
}

async function migrateStatus(options: Options): Promise<void> {
  await withDatabase(options, async (database) => {
    const { migrationStatus } = await import('../../store/migrate.ts');
    const rows = await migrationStatus(database);
    print(
      table(
        ['MIGRATION', 'APPLIED'],
        rows.map(({ name, appliedAt }) => [name, appliedAt ?? 'not yet']),
      ),
    );
  });
}

async function withDatabase(
  options: Options,
  use: (database: import('../../store/database.ts').Database, log: Logger) => Promise<void>,
): Promise<void> {
  writeForOwnerAlone();
  const { config } = await configOf('zone', options, { ...FLAGS, ...ZONE_FLAGS });
  const { createLogger } = await import('../../base/log.ts');
  const log = createLogger('warn');
  const { openDatabase } = await import('../../store/database.ts');
  const database = await openDatabase(config.store, log);
  try {
    await use(database, log).catch((error: unknown) => explainDatabase(error, config.store));
  } finally {
    await database.close();
  }
}
