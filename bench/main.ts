// `npm run bench`: measures the real processes side by side with the floor of this machine, in one run.
// Exit codes: 0 measured (over a budget or not), 1 could not measure, 2 the call was not understood.
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { messageOf } from '../src/base/errors.ts';
import { endChildren } from './children.ts';
import type { Context, Section } from './context.ts';
import { fleetSections, runFleetSections } from './fleet-sections.ts';
import { nowMs } from './measure.ts';
import type { Metric } from './metric.ts';
import { startPostgres, type Postgres } from './postgres.ts';
import { measureReceiver } from './receiver.ts';
import { describeReport, makeReport } from './report.ts';
import { measureRest } from './rest.ts';
import { measureScaling, type ScalingRow } from './scaling.ts';
import { defaults, type Settings } from './settings.ts';
import { measureStart } from './start.ts';
import { measureTables } from './tables.ts';

const ownSections: Readonly<Record<string, Section>> = {
  tables: measureTables,
  receiver: measureReceiver,
  rest: measureRest,
  start: measureStart,
};
const allSections: readonly string[] = [...fleetSections, ...Object.keys(ownSections), 'scaling'];

const sizeFlags: readonly [flag: string, about: string, key: keyof Settings][] = [
  ['--zones <n>', 'fake zones that join', 'zones'],
  ['--resources <n>', 'MeshTimeouts on the global', 'resources'],
  ['--zones-per-process <n>', 'fake zones in one process', 'zonesPerProcess'],
  ['--warm-up <n>', 'changes before the counted ones', 'warmUp'],
  ['--changes <n>', 'counted changes, one after the other', 'changes'],
  ['--burst <n>', 'changes at once', 'burst'],
  ['--idle-seconds <n>', 'how long to watch an idle server', 'idleSeconds'],
  ['--services <n>', 'MeshServices at once from a zone', 'services'],
  ['--rest-seconds <n>', 'how long each kind of request is measured', 'restSeconds'],
  ['--start-resources <n>', 'MeshTimeouts of the global that is started; try 100000', 'startResources'],
  ['--scaling-zones <n>', 'zones of the smallest size of the scaling table', 'scalingZones'],
  ['--scaling-resources <n>', 'MeshTimeouts of the smallest size of the scaling table', 'scalingResources'],
];

const program = new Command('npm run bench --')
  .description('Measure a global and its zones against the floor: the least that a gRPC server needs for the same work.')
  .option('--only <sections>', `some sections, with commas between them: ${allSections.join(', ')}`, parseSections)
  .option('--scaling', 'the scaling table alone')
  .option('--json <file>', 'write the results and the facts of the machine there')
  .exitOverride()
  .showHelpAfterError('(--help shows what is possible)')
  .addHelpText(
    'after',
    `
Needs Linux, for /proc, and a PostgreSQL: TEST_POSTGRES_URL, else a container, else the one that npm installed.
TEST_POSTGRES_PROVIDER forces url, testcontainers, embedded or installed. The servers run without TLS.

Sections:
  join      all zones join at once: seconds, and CPU of the server
  idle      CPU and memory of the server after that
  change    one policy by PUT until the last zone has it
  burst     many policies at once
  tables    a MeshService from one real zone into the table of another
  receiver  the first state of a real zone into its PostgreSQL
  rest      requests a second
  start     a global with many resources, from start to ready
  scaling   join and change with twice the zones, and with twice the resources

Examples:
  npm run bench                                      everything, about two minutes
  npm run bench -- --only join,change --json a.json
  npm run bench -- --only join,idle --zones 500 --zones-per-process 50

Exit codes: 0 measured, over budget or not; 1 could not measure; 2 the call was not understood.`,
  );
for (const [flag, about, key] of sizeFlags) program.option(flag, about, parseCount, defaults[key]);

function parseCount(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError('It must be a whole number from 1.');
  return value;
}

function parseSections(text: string): string[] {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !allSections.includes(name));
  if (unknown !== undefined)
    throw new InvalidArgumentError(`There is no section ${unknown}; there are ${allSections.join(', ')}.`);
  return names;
}

type Options = Settings & { readonly only?: readonly string[]; readonly scaling?: boolean; readonly json?: string };

const began = nowMs();
function say(text: string): void {
  process.stderr.write(`${((nowMs() - began) / 1000).toFixed(1).padStart(6)} s  ${text}\n`);
}

async function measureAll(context: Context, wanted: ReadonlySet<string>): Promise<{ metrics: Metric[]; scaling: ScalingRow[] }> {
  const metrics: Metric[] = [];
  if (fleetSections.some((name) => wanted.has(name))) metrics.push(...(await runFleetSections(context, wanted)));
  for (const [name, measure] of Object.entries(ownSections)) if (wanted.has(name)) metrics.push(...(await measure(context)));
  if (!wanted.has('scaling')) return { metrics, scaling: [] };
  const scaling = await measureScaling(context);
  return { metrics: [...metrics, ...scaling.metrics], scaling: scaling.rows };
}

async function bench({ only, scaling = false, json, ...settings }: Options): Promise<void> {
  if (!existsSync('/proc/self/stat')) throw new Error('CPU and memory of processes are read from /proc, which only Linux has');
  const wanted = new Set(scaling ? ['scaling'] : (only ?? allSections));
  let starting: Promise<Postgres> | null = null;
  let ending: Promise<void> | null = null;
  const end = (): Promise<void> =>
    (ending ??= endChildren()
      .then(() => starting)
      .then((postgres) => postgres?.stop()));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (ending !== null) process.exit(1);
      say('interrupted: ending what was started');
      void end().finally(() => process.exit(1));
    });
  }
  try {
    say('starting PostgreSQL');
    starting = startPostgres();
    const postgres = await starting;
    const found = await measureAll({ settings, postgres, say }, wanted);
    const report = makeReport(settings, postgres.facts, found.metrics, found.scaling);
    process.stdout.write(`\n${describeReport(report)}\n`);
    if (json !== undefined) await writeFile(json, `${JSON.stringify(report, null, 2)}\n`);
  } finally {
    await end();
  }
}

try {
  program.action(bench);
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2;
  else {
    process.stderr.write(`could not measure: ${messageOf(error)}\n`);
    process.exitCode = 1;
  }
}
