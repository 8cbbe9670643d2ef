import { defineConfig } from 'vitest/config';

const postgres = { globalSetup: ['test/support/postgres-global-setup.ts'] };

export default defineConfig({
  test: {
    reporters: ['default'],
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: ['**/*.pg.test.ts', '**/*.e2e.test.ts', 'test/architecture.test.ts'],
          testTimeout: 30_000,
        },
      },
      { test: { name: 'architecture', include: ['test/architecture.test.ts'] } },
      { test: { name: 'postgres', include: ['test/**/*.pg.test.ts'], testTimeout: 60_000, hookTimeout: 120_000, ...postgres } },
      {
        test: {
          name: 'e2e',
          include: ['test/**/*.e2e.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 180_000,
          fileParallelism: false,
          ...postgres,
        },
      },
    ],
  },
});
