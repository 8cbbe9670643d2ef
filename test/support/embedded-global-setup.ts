// The folder of a run: of its embedded stores (embedded-store.ts) and of what its control planes keep (control-plane-env.ts). It is empty
// until a test needs it.
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
  // Workers inherit it.
  process.env['TEST_WORK_FOLDER'] = join(folder, 'work');
  return () => rm(folder, { recursive: true });
}
