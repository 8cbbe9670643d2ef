// One run: the wanted sections one after the other, then what they found. Invariant: whatever was started is ended, whether the
// run ends well, fails or is interrupted.
import { writeFile } from 'node:fs/promises';
import { endChildren } from './children.ts';
import type { Context, Table } from './context.ts';
import { nowMs } from './measure.ts';
import type { Metric } from './metric.ts';
import { startPostgres, type Postgres } from './postgres.ts';
import type { Program } from './program.ts';
import { describeReport, makeReport } from './report.ts';

/** Prints what the sections found. @param json file for the same as JSON */
export async function runSections<S>(
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
  const end = endOnce(async () => {
    await endChildren();
    await (await starting)?.stop();
  });
  try {
    const tables: Table[] = [];
    const context: Context<S> = { settings, postgres, say, addTable: (table) => void tables.push(table) };
    const metrics: Metric[] = [];
    for (const { names, measure } of program.sections)
      if (Object.keys(names).some((name) => wanted.has(name))) metrics.push(...(await measure(context, wanted)));
    // A section may have asked for it meanwhile, which the compiler does not see.
    const server = await (starting as Promise<Postgres> | null);
    const report = makeReport(program, settings, { postgres: server?.facts ?? null, metrics, tables });
    process.stdout.write(`\n${describeReport(report, tables, program.judged?.sizes)}\n`);
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
