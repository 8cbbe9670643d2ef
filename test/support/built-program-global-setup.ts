// The built program of a run (built-program.ts).
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { buildProgram } from './built-program.ts';
import { onceARun } from './once-a-run.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Path of the command `meridian`, in the projects with this set-up. */
    builtProgram?: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { value, end } = await onceARun('built program', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'meridian-program-'));
    return { value: await buildProgram(folder), end: () => rm(folder, { recursive: true, force: true }) };
  });
  project.provide('builtProgram', value);
  return end;
}
