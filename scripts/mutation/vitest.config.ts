// The projects of the tests that run on each push, which also write down which test file comes to which change.
import { join } from 'node:path';
import { defineConfig, type TestProjectConfiguration } from 'vitest/config';
import config from '../../vitest.config.ts';

const setupFiles = ['test/support/patience.ts', join(import.meta.dirname, 'record-hits.ts')];

/** A change may let a test hang. */
function impatient(project: TestProjectConfiguration): TestProjectConfiguration[] {
  if (typeof project !== 'object' || !('test' in project)) return [];
  const { name } = project.test ?? {};
  if (name === 'peers' || name === 'architecture') return [];
  const limit = name === 'unit' ? 60_000 : 120_000;
  return [{ ...project, test: { ...project.test, testTimeout: limit, hookTimeout: limit, setupFiles } }];
}

export default defineConfig({
  ...config,
  test: { ...config.test, projects: (config.test?.projects ?? []).flatMap(impatient) },
});
