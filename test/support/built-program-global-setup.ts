// The built program of a run (built-program.ts), or of all that share a folder.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { buildProgram, programIn } from './built-program.ts';
import { onceARun } from './once-a-run.ts';
import { madeOnce, sharedFolder } from './shared-folder.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Path of the command `meridian`, in the projects with this set-up. */
    builtProgram?: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { value, end } = await onceARun('built program', async () => {
    const parent = sharedFolder ?? (await mkdtemp(join(tmpdir(), 'meridian-program-')));
    const folder = await madeOnce(parent, 'program', buildProgram);
    const end = async (): Promise<void> => {
      if (sharedFolder === undefined) await rm(parent, { recursive: true, force: true });
    };
    return { value: programIn(folder), end };
  });
  project.provide('builtProgram', value);
  return end;
}
