// The changes that no test of the first stage noticed, with all tests of a push. Those start databases, processes and proxies, and take
// minutes: so they run once with all changes at once, and again only what failed, with halves of the changes.
import { join } from 'node:path';
import type { Copy } from './copy.ts';
import { culpritsAmong, withoutOverlaps } from './culprits.ts';
import { againIfLate } from './late-runs.ts';
import { applyMutant, type Mutant } from './mutants.ts';
import { projectOf } from './test-files.ts';
import { HITS, TestRunner, type TestRun } from './test-runner.ts';

type Change = { readonly file: string; readonly mutant: Mutant };
export type Noticed<Item> = { readonly change: Item; /** A test file. */ readonly by: string };

/** A test that takes longer hangs: the tests of `e2e` start several processes. */
const IDLE_MS = 240_000;
/** Processes start more slowly than functions. */
const PATIENCE_MS = 60_000;

type SecondStage<Item> = {
  readonly copy: Copy;
  /** File → its text without a change. */
  readonly texts: ReadonlyMap<string, string>;
  readonly changes: readonly Item[];
  /** Test files. */
  readonly files: readonly string[];
  readonly say: (line: string) => void;
  readonly shown: (change: Item) => string;
};

/**
 * The changes that these tests notice. A change counts when a test file fails with it alone, and passes without a change.
 * A change that another hides while all are made at once is not found.
 */
export async function noticedBySecondStage<Item extends Change>(stage: SecondStage<Item>): Promise<Noticed<Item>[]> {
  const noticed: Noticed<Item>[] = [];
  for (const group of withoutOverlaps(stage.changes)) noticed.push(...(await noticedOfGroup(stage, group)));
  return noticed;
}

async function noticedOfGroup<Item extends Change>(stage: SecondStage<Item>, group: readonly Item[]): Promise<Noticed<Item>[]> {
  const { files, say } = stage;
  // A group fails for any of its changes: the repetition is for a single one.
  const first =
    group.length > 1 ? await run(stage, group, files) : await againIfLate((isAlone) => run(stage, group, files, isAlone));
  // A test hangs, or a database cannot be set up: then no test file has a result.
  if (first.took.length === 0) return await noticedAtStart(stage, group, first);
  if (first.failed.length === 0 && first.errors.length > 0) say(`errors of no test file: ${first.errors.join(', ')}`);
  const took = new Map(first.took);
  const noticed: Noticed<Item>[] = [];
  for (const test of first.failed.toSorted((a, b) => (took.get(a) ?? 0) - (took.get(b) ?? 0))) {
    const left = group.filter((change) => !noticed.some((one) => one.change === change));
    noticed.push(...(await noticedBy(stage, left, test)));
  }
  return noticed;
}

/** The changes with which one short test of PostgreSQL fails, then those of the others; halves of them where there are none. */
async function noticedAtStart<Item extends Change>(
  stage: SecondStage<Item>,
  group: readonly Item[],
  { outcome, errors }: TestRun,
): Promise<Noticed<Item>[]> {
  const [change] = group;
  if (group.length === 1 && change !== undefined) return [{ change, by: errors[0] ?? `all tests ${outcome}` }];
  const test = stage.files.find((file) => projectOf(file) === 'postgres');
  const noticed = test === undefined ? [] : await noticedBy(stage, group, test);
  const left = group.filter((one) => !noticed.some((other) => other.change === one));
  const half = noticed.length > 0 ? left.length : Math.ceil(left.length / 2);
  for (const some of [left.slice(0, half), left.slice(half)])
    if (some.length > 0) noticed.push(...(await noticedOfGroup(stage, some)));
  return noticed;
}

/** The changes with which this test file fails; none where it fails without a change. */
async function noticedBy<Item extends Change>(
  stage: SecondStage<Item>,
  group: readonly Item[],
  test: string,
): Promise<Noticed<Item>[]> {
  const fails = async (changes: readonly Item[]): Promise<boolean> => {
    const { outcome } = await againIfLate((isAlone) => run(stage, changes, [test], isAlone));
    return outcome !== 'passed' && outcome !== 'incomplete';
  };
  if (await fails([])) {
    stage.say(`left out, as it fails without a change: ${test}`);
    return [];
  }
  const found = await culpritsAmong(group, fails);
  for (const change of found) stage.say(`noticed by ${test}: ${stage.shown(change)}`);
  return found.map((change) => ({ change, by: test }));
}

/** Runs test files with changes, in a new process: it has the texts of no earlier run. */
async function run<Item extends Change>(
  { copy, texts }: SecondStage<Item>,
  changes: readonly Item[],
  tests: readonly string[],
  isAlone = false,
): Promise<TestRun> {
  using runner = new TestRunner(copy.folder, join(copy.folder, HITS), { isWhole: true, isAlone, patienceMs: PATIENCE_MS });
  const changed = withChanges(texts, changes);
  for (const [file, text] of changed) copy.write(file, text);
  try {
    return await runner.run(tests, IDLE_MS);
  } finally {
    for (const file of changed.keys()) copy.write(file, texts.get(file) ?? '');
  }
}

/** File → its text with its changes. */
function withChanges(texts: ReadonlyMap<string, string>, changes: readonly Change[]): Map<string, string> {
  const changed = new Map<string, string>();
  for (const { file, mutant } of changes.toSorted((a, b) => b.mutant.start - a.mutant.start))
    changed.set(file, applyMutant(changed.get(file) ?? texts.get(file) ?? '', mutant));
  return changed;
}
