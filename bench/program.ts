// The command line that every benchmark has: sizes as flags, some sections of all, a table and JSON. An entry file names its sections and
// calls `runProgram`, which never rejects: it sets the exit code. Invariant: whatever was started is ended, whether the run ends well, fails
// or is interrupted.
import { writeFile } from 'node:fs/promises';
import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { messageOf } from '../src/base/errors.ts';
import { endChildren } from './children.ts';
import type { Sections, Sizes } from './context.ts';
import { nowMs } from './measure.ts';
import { measureSections } from './measure-sections.ts';
import { startPostgres, type Postgres } from './postgres.ts';
import { describeReport, makeReport, type Judged } from './report.ts';

export type Program<S> = {
  /** As it is typed: `npm run bench:zone`. */
  readonly command: string;
  readonly about: string;
  readonly sizes: Sizes<S>;
  /** Sizes that no flag changes, for the JSON. */
  readonly fixedSizes?: Readonly<Record<string, number>>;
  /** In the order in which they are measured. */
  readonly sections: readonly Sections<S>[];
  /** Left out where every budget counts at every size. */
  readonly judged?: Judged<S>;
  /** Left out where any PostgreSQL serves. */
  readonly startPostgres?: () => Promise<Postgres>;
  /** A run over its budget ends with exit code 1. */
  readonly failsOverBudget?: boolean;
  /** Throws what stands against the run, before anything is started. */
  readonly check?: (settings: S) => void;
  /** Options of a call → what it does. */
  readonly examples: Readonly<Record<string, string>>;
};

type Options = Record<string, number> & { readonly only?: readonly string[]; readonly json?: string };

export async function runProgram<S extends object>(program: Program<S>): Promise<void> {
  try {
    await commandOf(program).parseAsync();
  } catch (error) {
    if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2;
    else {
      process.stderr.write(`could not measure: ${messageOf(error)}\n`);
      process.exitCode = 1;
    }
  }
}

function commandOf<S extends object>(program: Program<S>): Command {
  const { command, about, sizes } = program;
  const names = program.sections.flatMap((one) => Object.keys(one.names));
  const parsed = new Command(`${command} --`)
    .description(about)
    .option('--only <sections>', 'some sections, with commas between them', (text) => parseSections(text, names))
    .option('--json <file>', 'write the results and the facts of the machine there')
    .exitOverride()
    .showHelpAfterError('(--help lists commands and options)')
    .addHelpText('after', helpOf(program));
  for (const [key, [value, text]] of Object.entries<readonly [number, string]>(sizes))
    parsed.option(`--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)} <n>`, text, parseCount, value);
  return parsed.action(async ({ only = names, json, ...settings }: Options) => {
    await runSections(program, settings as unknown as S, new Set(only), json);
  });
}

function parseCount(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError('It must be a whole number from 1.');
  return value;
}

function parseSections(text: string, names: readonly string[]): string[] {
  const wanted = text.split(',').map((name) => name.trim());
  const unknown = wanted.find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw new InvalidArgumentError(`There is no section ${JSON.stringify(unknown)}; there are ${names.join(', ')}.`);
  return wanted;
}

function helpOf<S>({ command, sections, examples, startPostgres, failsOverBudget = false }: Program<S>): string {
  const calls = Object.entries(examples).map(([options, what]) => [`${command} -- ${options}`, what] as const);
  const postgres =
    startPostgres === undefined
      ? 'of sections that need one is TEST_POSTGRES_URL, else a container, else the one that npm installed;\nTEST_POSTGRES_PROVIDER forces url, testcontainers, embedded or installed'
      : 'is the one that npm installed, else one of the machine; TEST_POSTGRES_PROVIDER forces embedded or installed';
  return `
The PostgreSQL ${postgres}.
It runs with fsync, unless BENCH_POSTGRES_FSYNC is off. The servers run without TLS.

Sections:
${columns(sections.flatMap(({ names }) => Object.entries(names)))}

Examples:
${columns([[command, 'everything'], ...calls])}

Exit codes: 0 measured, ${failsOverBudget ? 'within budget; 1 over budget, or' : 'over budget or not; 1'} could not measure; 2 the call was not understood.`;
}

function columns(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([first]) => first.length));
  return rows.map(([first, second]) => `  ${first.padEnd(width)}  ${second}`).join('\n');
}

/** Prints what the sections found, and those that could not be measured. @param json file for the same as JSON */
async function runSections<S>(
  program: Program<S>,
  settings: S,
  wanted: ReadonlySet<string>,
  json: string | undefined,
): Promise<void> {
  program.check?.(settings);
  let starting: Promise<Postgres> | null = null;
  const postgres = (): Promise<Postgres> => {
    if (starting === null) say('starting PostgreSQL');
    return (starting ??= (program.startPostgres ?? startPostgres)());
  };
  /** A section has said already why it does not start. */
  const started = async (): Promise<Postgres | null> => await (starting?.catch(() => null) ?? null);
  const end = endOnce(async () => {
    await endChildren();
    await (await started())?.stop();
  });
  try {
    const measured = await measureSections(program.sections, wanted, { settings, postgres, say });
    const server = await started();
    const report = makeReport(program, settings, { postgres: server?.facts ?? null, ...measured });
    process.stdout.write(`\n${describeReport(report, program.judged?.sizes)}\n`);
    if (measured.failed.length > 0) process.exitCode = 1;
    if (program.failsOverBudget === true && report.metrics.some(({ verdict }) => verdict === 'over')) process.exitCode = 1;
    if (json !== undefined) await writeFile(json, `${JSON.stringify(report, null, 2)}\n`);
  } finally {
    await end();
  }
}

/** Ends at the first interrupt too; the second does not wait for that. */
function endOnce(task: () => Promise<void>): () => Promise<void> {
  let ending: Promise<void> | null = null;
  const end = (): Promise<void> => (ending ??= task());
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (ending !== null) process.exit(1);
      say('interrupted: ending what was started');
      void end().finally(() => process.exit(1));
    });
  }
  return end;
}

const began = nowMs();

function say(text: string): void {
  process.stderr.write(`${((nowMs() - began) / 1000).toFixed(1).padStart(6)} s  ${text}\n`);
}
