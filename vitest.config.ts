import { availableParallelism, homedir } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { findEnvoy, NO_ENVOY } from './src/dataplane/find-envoy.ts';
import { findChromium, NO_CHROMIUM } from './test/support/find-chromium.ts';
import { whyNoNamespaces } from './test/support/find-namespaces.ts';
import { isFull } from './test/support/test-size.ts';
import { WAIT } from './test/support/wait.ts';

// Compiled packages are kept from one worker to the next, in the folder where `bin/meridian` keeps them: a worker then starts for half of
// the CPU, and so does the process of its commands.
process.env['NODE_COMPILE_CACHE'] ??= join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'meridian');

// Real peers are not in the repository. Without them there is no project of that name, and one line says so.
const peersFolder = process.env['MERIDIAN_PEERS'] ?? '';
// The control planes of the tests would take the variable for a key of their configuration.
delete process.env['MERIDIAN_PEERS'];
if (peersFolder === '')
  process.stderr.write(
    'Project peers is left out: set MERIDIAN_PEERS to a folder with kuma-cp, kumactl and kuma-dp (README, Contributing)\n',
  );

// An Envoy is larger than all packages of this one together, so it is none of them.
const envoy = await findEnvoy({ env: process.env });
process.stderr.write(
  envoy === null ? `Project envoy is left out: ${NO_ENVOY}\n` : `Envoy of the tests: ${envoy.path} (${envoy.from})\n`,
);

// Neither is a browser.
const chromium = await findChromium(process.env);
process.stderr.write(
  chromium === null
    ? `Project gui is left out: ${NO_CHROMIUM}\n`
    : `Chromium of the tests: ${chromium.path} (${chromium.from})\n`,
);

// Network namespaces need rights that a container may not have.
const noNamespaces = await whyNoNamespaces();
if (noNamespaces !== null) process.stderr.write(`Tests in network namespaces are left out: ${noNamespaces}\n`);
const leftOut = noNamespaces === null ? [] : ['**/*.netns.*.test.ts'];

// They end what hangs. A condition that does not come true ends its test before, and says which one (test/support/wait.ts): a test may have
// several conditions, and a busy machine takes ten times as long.
const limits = { testTimeout: 300_000, hookTimeout: 300_000 };

const setupFiles = ['test/support/patience.ts'];
const peers = {
  extends: true as const,
  test: {
    name: 'peers',
    include: ['test/peers/**/*.peers.test.ts'],
    exclude: leftOut,
    // They wait for each other's processes more than they work.
    maxWorkers: 2,
    // After the others: files that run together have one number of workers.
    sequence: { groupOrder: 1 },
    ...limits,
    provide: { peersFolder, envoy: envoy?.path ?? '' },
    globalSetup: ['test/peers/peers-global-setup.ts'],
    setupFiles,
  },
};

function envoyProject(path: string) {
  return {
    extends: true as const,
    test: {
      name: 'envoy',
      include: ['test/**/*.envoy.test.ts'],
      exclude: leftOut,
      ...limits,
      provide: { envoy: path },
      ...processes,
    },
  };
}

function guiProject(path: string) {
  return {
    extends: true as const,
    test: {
      name: 'gui',
      include: ['test/gui/**/*.gui.test.ts'],
      ...limits,
      provide: { chromium: path },
      ...processes,
    },
  };
}

// Modules are loaded once a worker, not once a file: no test changes what a module holds.
const shared = { isolate: false, setupFiles };
const postgres = { globalSetup: ['test/support/postgres-global-setup.ts'], ...shared };
// Most of what these processes do is to start: a program of few files starts for two thirds of the CPU.
const builtProgram = 'test/support/built-program-global-setup.ts';
const processes = { ...postgres, globalSetup: [...postgres.globalSetup, builtProgram] };

/** Files that another run of the same CI has, a line each (`.ci/run`). */
const runElsewhere = (process.env['TEST_RUN_ELSEWHERE'] ?? '').split('\n').filter((file) => file !== '');

export default defineConfig({
  test: {
    reporters: ['default'],
    // Two more than there are cores, on a machine of two cores: many tests wait for processes and timers. More than four would need
    // more connections than the PostgreSQL of the tests has.
    maxWorkers: Math.min(4, availableParallelism() + 2),
    expect: { poll: WAIT },
    // Once a run: all projects share the embedded store that their stores are copies of.
    globalSetup: ['test/support/embedded-global-setup.ts'],
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: [
            '**/*.pg.test.ts',
            '**/*.e2e.test.ts',
            '**/*.chaos.test.ts',
            '**/*.envoy.test.ts',
            '**/*.gui.test.ts',
            '**/*.peers.test.ts',
            '**/*.isolated.test.ts',
            'test/architecture.test.ts',
            'test/citations.test.ts',
            'test/matched-text.test.ts',
            ...runElsewhere,
          ],
          ...limits,
          ...shared,
        },
      },
      {
        extends: true,
        test: {
          name: 'architecture',
          include: ['test/architecture.test.ts', 'test/citations.test.ts', 'test/matched-text.test.ts'],
          ...limits,
          ...shared,
        },
      },
      {
        extends: true,
        test: {
          name: 'isolated',
          include: ['test/**/*.isolated.test.ts'],
          ...limits,
          // A process each: they measure what runs in it.
          isolate: true,
          setupFiles,
        },
      },
      {
        extends: true,
        test: {
          name: 'postgres',
          include: ['test/**/*.pg.test.ts'],
          ...limits,
          ...postgres,
        },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: ['test/**/*.e2e.test.ts'],
          // One demo is enough on each push: the one with an Envoy shows all that the other shows.
          exclude: [...(envoy === null || isFull ? [] : ['test/e2e/demo.e2e.test.ts']), ...leftOut],
          ...limits,
          ...processes,
        },
      },
      {
        extends: true,
        test: {
          name: 'chaos',
          include: ['test/chaos/**/*.chaos.test.ts'],
          exclude: envoy === null ? ['test/chaos/proxies/**'] : [],
          provide: { envoy: envoy?.path ?? '' },
          ...limits,
          ...processes,
        },
      },
      ...(envoy === null ? [] : [envoyProject(envoy.path)]),
      ...(chromium === null ? [] : [guiProject(chromium.path)]),
      ...(peersFolder === '' ? [] : [peers]),
    ],
  },
});
