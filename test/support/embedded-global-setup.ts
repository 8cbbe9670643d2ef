// The folder of the embedded stores of a run (embedded-store.ts): empty until a test needs one.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  export interface ProvidedContext {
    embeddedFolder: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'meridian-embedded-'));
  project.provide('embeddedFolder', folder);
  return () => rm(folder, { recursive: true });
}
