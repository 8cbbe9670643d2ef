import { defineConfig } from 'vitest/config';

// Real peers are not in the repository. Without them there is no project of that name, and one line says so.
const peersFolder = process.env['MERIDIAN_PEERS'] ?? '';
// The control planes of the tests would take the variable for a key of their configuration.
delete process.env['MERIDIAN_PEERS'];
if (peersFolder === '')
  process.stderr.write(
    'Project peers is left out: set MERIDIAN_PEERS to a folder with kuma-cp and kumactl (README, Contributing)\n',
  );

const peers = {
  test: {
    name: 'peers',
    include: ['test/peers/**/*.peers.test.ts'],
    // They wait for each other's processes more than they work.
    maxWorkers: 2,
    testTimeout: 180_000,
    hookTimeout: 180_000,
    provide: { peersFolder },
    globalSetup: ['test/peers/peers-global-setup.ts'],
  },
};

const postgres = { globalSetup: ['test/support/postgres-global-setup.ts'] };

export default defineConfig({
  test: {
    reporters: ['default'],
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: [
            '**/*.pg.test.ts',
            '**/*.e2e.test.ts',
            '**/*.peers.test.ts',
            'test/architecture.test.ts',
            'test/citations.test.ts',
          ],
          testTimeout: 30_000,
        },
      },
      { test: { name: 'architecture', include: ['test/architecture.test.ts', 'test/citations.test.ts'] } },
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
      ...(peersFolder === '' ? [] : [peers]),
    ],
  },
});
