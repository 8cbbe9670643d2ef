// `npm run bench:zone`: what keeping the services of a large zone costs, at one size and at half of it.
// Exit codes: 0 measured, over budget or not; 1 could not measure; 2 the call was not understood.
import { writeFile } from 'node:fs/promises';
import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { messageOf } from '../src/base/errors.ts';
import { nowMs } from './measure.ts';
import { budgets, type Budget, type Metric } from './metric.ts';
import { startPostgres } from './postgres.ts';
import { describeReport, makeReport } from './report.ts';
import { defaults as fleetDefaults } from './settings.ts';
import { measureReach, type ReachFindings } from './zone-reach.ts';
import { measureZone, type ZoneFindings, type ZoneSizes } from './zone-services.ts';

const defaults: ZoneSizes = { services: 2_000, dataplanes: 5_000, warmUp: 100, changes: 400, safetyPasses: 5 };

/** For 2,000 services × 5,000 Dataplanes on two cores, the database included. */
const zoneBudgets = { changeP99Ms: { most: 100 }, safetySeconds: { most: 1 } } as const satisfies Record<string, Budget>;

const flags: readonly [flag: string, about: string, key: keyof ZoneSizes][] = [
  ['--services <n>', 'MeshServices that the generator makes', 'services'],
  ['--dataplanes <n>', 'Dataplanes behind them, spread evenly', 'dataplanes'],
  ['--warm-up <n>', 'changes before the counted ones', 'warmUp'],
  ['--changes <n>', 'counted changes, one after the other; together fewer than Dataplanes', 'changes'],
  ['--safety-passes <n>', 'safety passes of which the median counts', 'safetyPasses'],
];

const program = new Command('npm run bench:zone --')
  .description('Measure the reconciler of the services of a zone against a real PostgreSQL.')
  .option('--json <file>', 'write the results and the facts of the machine there')
  .exitOverride()
  .showHelpAfterError('(--help shows what is possible)');
for (const [flag, about, key] of flags) program.option(flag, about, parseCount, defaults[key]);

function parseCount(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError('It must be a whole number from 1.');
  return value;
}

const began = nowMs();
function say(text: string): void {
  process.stderr.write(`${((nowMs() - began) / 1000).toFixed(1).padStart(6)} s  ${text}\n`);
}

async function bench({ json, ...sizes }: ZoneSizes & { readonly json?: string }): Promise<void> {
  // Every change must be one.
  if ((sizes.warmUp + sizes.changes) * 2 > sizes.dataplanes) throw new Error('give at least twice as many Dataplanes as changes');
  say('starting PostgreSQL');
  const postgres = await startPostgres();
  try {
    say(`${String(sizes.services)} services, ${String(sizes.dataplanes)} Dataplanes`);
    const whole = await measureZone(postgres, sizes);
    const halves = { ...sizes, services: Math.ceil(sizes.services / 2), dataplanes: Math.ceil(sizes.dataplanes / 2) };
    say(`${String(halves.services)} services, ${String(halves.dataplanes)} Dataplanes`);
    const half = await measureZone(postgres, halves);
    say('a global and two zones: from a Dataplane in one to the service in the other');
    const metrics = [...metricsOf(sizes, whole, half), ...reachMetrics(await measureReach(postgres))];
    const report = makeReport(fleetDefaults, postgres.facts, metrics, []);
    process.stdout.write(`\n${describeReport(report)}\n`);
    if (json !== undefined) await writeFile(json, `${JSON.stringify({ ...report, settings: sizes }, null, 2)}\n`);
  } finally {
    await postgres.stop();
  }
}

function metricsOf(sizes: ZoneSizes, whole: ZoneFindings, half: ZoneFindings): Metric[] {
  const section = 'zone';
  const isReference = sizes.services >= defaults.services && sizes.dataplanes >= defaults.dataplanes;
  const judged = (budget: Budget): { budget?: Budget } => (isReference ? { budget } : {});
  const change = 'a Dataplane changes until its service is written';
  return [
    { section, name: `${change}, p50`, unit: 'ms', meridian: whole.changeP50Ms },
    { section, name: `${change}, p99`, unit: 'ms', meridian: whole.changeP99Ms, ...judged(zoneBudgets.changeP99Ms) },
    { section, name: 'rows written for it', unit: '', meridian: whole.writesPerChange },
    { section, name: 'CPU of the zone for it', unit: 'ms', meridian: whole.changeCpuMs },
    {
      ...{ section, name: 'CPU for it, against half the size', unit: '×', meridian: whole.changeCpuMs / half.changeCpuMs },
      budget: budgets.scalingFactor,
    },
    { section, name: 'safety pass', unit: 's', meridian: whole.safetySeconds, ...judged(zoneBudgets.safetySeconds) },
    { section, name: 'all services made from nothing', unit: 's', meridian: whole.firstLookSeconds },
  ];
}

function reachMetrics({ stateP50Ms, ingressP50Ms }: ReachFindings): Metric[] {
  const common = { section: 'zone', unit: 'ms', budget: budgets.tableP50Ms };
  return [
    { ...common, name: 'a Dataplane changes until the service in another zone does, p50', meridian: stateP50Ms },
    { ...common, name: 'an ingress moves until another zone has it, p50', meridian: ingressP50Ms },
  ];
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
