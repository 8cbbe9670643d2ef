// One run: the wanted sections one after the other, then what they found. Invariant: whatever was started is ended, whether the
// run ends well, fails or is interrupted.
import { writeFile } from 'node:fs/promises';
import { endChildren } from './children.ts';
import { nowMs } from './measure.ts';
import { measureSections } from './measure-sections.ts';
import { startPostgres, type Postgres } from './postgres.ts';
import type { Program } from './program.ts';
import { describeReport, makeReport } from './report.ts';

/** Prints what the sections found, and those that could not be measured. @param json file for the same as JSON */
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
    process.stdout.write(`\n${describeReport(report, measured.tables, program.judged?.sizes)}\n`);
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
