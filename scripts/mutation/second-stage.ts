// The changes that no test of the first stage noticed, with all tests of a push. Those start databases, processes and proxies, and take
// minutes: so they run once with all changes at once, and again only what failed, with halves of the changes.
import { join } from 'node:path';
import type { Copy } from './copy.ts';
import { culpritsAmong, withoutOverlaps } from './culprits.ts';
import { applyMutant, type Mutant } from './mutants.ts';
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

async function noticedOfGroup<Item extends Change>(
  { copy, texts, files, say, shown }: SecondStage<Item>,
  group: readonly Item[],
): Promise<Noticed<Item>[]> {
  const run = async (changes: readonly Item[], tests: readonly string[]): Promise<TestRun> => {
    // A new process each time: it has the texts of no earlier run.
    using runner = new TestRunner(copy.folder, join(copy.folder, HITS), { isWhole: true, patienceMs: PATIENCE_MS });
    const changed = withChanges(texts, changes);
    for (const [file, text] of changed) copy.write(file, text);
    try {
      return await runner.run(tests, IDLE_MS);
    } finally {
      for (const file of changed.keys()) copy.write(file, texts.get(file) ?? '');
    }
  };
  const first = await run(group, files);
  // A test hangs, or a database cannot be set up.
  if (first.took.length === 0) return await noticedOfHalves({ copy, texts, files, say, shown, changes: group }, first);
  if (first.failed.length === 0 && first.errors.length > 0) say(`errors of no test file: ${first.errors.join(', ')}`);
  const took = new Map(first.took);
  const noticed: Noticed<Item>[] = [];
  for (const test of first.failed.toSorted((a, b) => (took.get(a) ?? 0) - (took.get(b) ?? 0))) {
    const fails = async (changes: readonly Item[]): Promise<boolean> => {
      const { outcome } = await run(changes, [test]);
      return outcome !== 'passed' && outcome !== 'incomplete';
    };
    if (await fails([])) {
      say(`left out, as it fails without a change: ${test}`);
      continue;
    }
    const left = group.filter((change) => !noticed.some((one) => one.change === change));
    for (const change of await culpritsAmong(left, fails)) {
      say(`noticed by ${test}: ${shown(change)}`);
      noticed.push({ change, by: test });
    }
  }
  return noticed;
}

/** Each half alone; a single change with which the tests hang or cannot start is noticed. */
async function noticedOfHalves<Item extends Change>(
  stage: SecondStage<Item>,
  { outcome, errors }: TestRun,
): Promise<Noticed<Item>[]> {
  const { changes } = stage;
  const [change] = changes;
  if (changes.length === 1 && change !== undefined) return [{ change, by: errors[0] ?? `all tests ${outcome}` }];
  const half = Math.ceil(changes.length / 2);
  const halves = [changes.slice(0, half), changes.slice(half)];
  const noticed: Noticed<Item>[] = [];
  for (const some of halves) noticed.push(...(await noticedOfGroup(stage, some)));
  return noticed;
}

/** File → its text with its changes. */
function withChanges(texts: ReadonlyMap<string, string>, changes: readonly Change[]): Map<string, string> {
  const changed = new Map<string, string>();
  for (const { file, mutant } of changes.toSorted((a, b) => b.mutant.start - a.mutant.start))
    changed.set(file, applyMutant(changed.get(file) ?? texts.get(file) ?? '', mutant));
  return changed;
}
