// A process that keeps one vitest: it gets the test files of a run as a message, says when one of their tests ends, and answers with the
// outcome. To start vitest and to transform all files again for each change would take most of the time. `TestRunner` starts it, and
// ends it when a test is late. Argument: `bail`, to end a run at the first failure.
import { resolve } from 'node:path';
import { createVitest, type TestCase, type TestModule, type TestSequencer, type TestSpecification } from 'vitest/node';
import { projectOf } from './test-files.ts';

/** Test files, and the files that changed since the last run. All are relative to the working directory. */
export type Order = { readonly files: readonly string[]; readonly changed: readonly string[] };
export type Outcome = {
  /** Test file → milliseconds. */
  readonly took: readonly [file: string, ms: number][];
  readonly failed: readonly string[];
  /** Those of `failed` in which no test failed in time. */
  readonly late: readonly string[];
  /** The first failure of each file that failed, and errors that no test caught. */
  readonly errors: readonly string[];
};
export type Message = Outcome | 'test ended';

/** The order of the message: the test that notices a change is probably among the first. */
class AsNamed implements TestSequencer {
  shard(specifications: TestSpecification[]): TestSpecification[] {
    return specifications;
  }

  sort(specifications: TestSpecification[]): TestSpecification[] {
    return specifications;
  }
}

/** How long a test waits for a condition (test/support/wait.ts). */
const PATIENCE_MS = Number(process.env['TEST_PATIENCE_MS']);

/** Files that this run has ended, and errors that no test of it caught. */
let modules: TestModule[] = [];
let errors: readonly { readonly message: string }[] = [];

const vitest = await createVitest({
  ...{ root: '.', config: 'scripts/mutation/vitest.config.ts', watch: false, bail: process.argv.includes('bail') ? 1 : 0 },
  sequence: { sequencer: AsNamed },
  reporters: [
    {
      onTestCaseResult: () => tell('test ended'),
      onTestModuleEnd: (module) => void modules.push(module),
      onTestRunEnd: (_, uncaught) => void (errors = uncaught),
    },
  ],
});

process.on('message', (order: Order) => {
  // The setup of a project may fail with a change.
  run(order).catch((error: unknown) => tell({ took: [], failed: [], late: [], errors: [firstLine({ message: String(error) })] }));
});
process.on('disconnect', () => void vitest.close().finally(() => process.exit()));

function tell(message: Message): void {
  process.send?.(message);
}

async function run({ files, changed }: Order): Promise<void> {
  modules = [];
  for (const file of changed) vitest.invalidateFile(resolve(file));
  const specifications = files.flatMap((file) =>
    vitest.projects.flatMap((project) => (project.name === projectOf(file) ? [project.createSpecification(resolve(file))] : [])),
  );
  await vitest.runTestSpecifications(specifications);
  const took = modules.map((module): [string, number] => [module.relativeModuleId, module.diagnostic().duration]);
  const failed = modules.filter((module) => module.state() === 'failed');
  tell({
    took,
    failed: failed.map((module) => module.relativeModuleId),
    late: failed.filter(isLate).map((module) => module.relativeModuleId),
    errors: [...failed.map(failureOf), ...errors.map(firstLine)],
  });
}

/** Whether each failure is a time limit, or a wait for a condition that went on to its end. */
function isLate(module: TestModule): boolean {
  const tests = [...module.children.allTests('failed')];
  const others = [...module.errors(), ...[...module.children.allSuites()].flatMap((suite) => suite.errors())];
  return tests.length + others.length > 0 && tests.every(isLateTest) && others.every(isTimeLimit);
}

function isLateTest(test: TestCase): boolean {
  return (test.diagnostic()?.duration ?? 0) >= PATIENCE_MS || (test.result().errors ?? []).every(isTimeLimit);
}

/** A hook or a test that did not end in time. */
function isTimeLimit({ message }: { readonly message: string }): boolean {
  return / timed out in \d+ms/.test(message);
}

function failureOf(module: TestModule): string {
  const [test] = module.children.allTests('failed');
  const [error] = test?.result().errors ?? module.errors();
  return `«${test?.fullName ?? 'import'}» ${error === undefined ? '' : firstLine(error)}`;
}

function firstLine({ message }: { readonly message: string }): string {
  return (message.split('\n', 1)[0] ?? '').slice(0, 150);
}
