// The project `unit` of the tests, which also writes down which test file comes to which change.
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import config from '../../vitest.config.ts';

const [unit] = config.test?.projects ?? [];
if (typeof unit !== 'object' || !('test' in unit) || unit.test?.name !== 'unit') throw new Error('the first project is not unit');

export default defineConfig({
  ...config,
  test: {
    ...config.test,
    projects: [
      {
        ...unit,
        test: {
          ...unit.test,
          testTimeout: 60_000,
          hookTimeout: 60_000,
          setupFiles: ['test/support/patience.ts', join(import.meta.dirname, 'record-hits.ts')],
        },
      },
    ],
  },
});
