// npm run test:mutation -- [--sample N] [--seed S] [--files N] [--quick] [--list] FILE[:LINE] …
// Makes small changes in files of src, in a copy, and says which of them no test notices. First each change alone with the tests of
// the project `unit` that come to it; then what is left with all tests of a push (second-stage.ts).
import { existsSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { Copy } from './copy.ts';
import { againIfLate } from './late-runs.ts';
import { applyMutant, blockAround, mutantsOf, type Mutant } from './mutants.ts';
import { shuffled } from './random.ts';
import type { Hits } from './record-hits.ts';
import { noticedBySecondStage, type Noticed } from './second-stage.ts';
import { TestFiles } from './test-files.ts';
import { HITS, TestRunner } from './test-runner.ts';
import { TypeCheck } from './type-check.ts';

const TOP = resolve(import.meta.dirname, '../..');
/** A change may make a loop endless. */
const MIN_TIMEOUT_MS = 45_000;
const SLOWER = 3;
const RECORD_TIMEOUT_MS = 600_000;
/** Processes that a change is tried with until one loads it. */
const MAX_ATTEMPTS = 3;
/** So many test files run for a change alone, the nearest first, if it is not noticed before; `--files` says another number. */
const MAX_FILES = '15';

type Place = { readonly file: string; readonly mutant: Mutant };
/** Test file → milliseconds. */
type Took = ReadonlyMap<string, number>;
type Judged = Place & {
  readonly outcome: 'failed' | 'timed out' | 'passed' | 'not reached' | 'incomplete';
  readonly by: readonly string[];
  readonly errors: readonly string[];
  /** Test files of the project `unit` that come to the change and did not run with it. */
  readonly untried: readonly string[];
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sample: { type: 'string', default: '30' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    files: { type: 'string', default: MAX_FILES },
    quick: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
const USAGE = `usage: npm run test:mutation -- [--sample N] [--seed S] [--files N] [--quick] [--list] FILE[:LINE] FOLDER …

Makes small changes in files of src, in a copy, and prints those that no test detects.

  --sample N   the number of changes (30)
  --seed S     the same seed and sources give the same changes
  --files N    the test files of unit for one change, the nearest first (${MAX_FILES})
  --quick      no second stage: the tests of unit alone
  --list       print the changes; run no test
  --help       print this text
`;
if (values.help) {
  process.stdout.write(USAGE);
  process.exit(0);
}
const sample = Number(values.sample);
const seed = Number(values.seed);
const maxFiles = Number(values.files);
if (positionals.length === 0 || !Number.isInteger(sample) || !Number.isInteger(seed) || !Number.isInteger(maxFiles)) {
  process.stderr.write(USAGE);
  process.exit(2);
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const texts = new Map<string, string>();
const places = choose();
say(
  `seed ${String(seed)}: ${String(places.length)} changes that compile, in ${String(new Set(places.map(({ file }) => file)).size)} files`,
);
if (values.list) for (const place of places) say(shown(place));
else if (places.length > 0) await judgeAll();

function choose(): Place[] {
  const check = new TypeCheck(TOP);
  const all = positionals.flatMap((named) => {
    const [path = '', line] = named.split(':');
    return sourcesOf(relative(TOP, resolve(path))).flatMap((file) => {
      const text = readFileSync(join(TOP, file), 'utf8');
      texts.set(file, text);
      const found = mutantsOf(text).map((mutant): Place => ({ file, mutant }));
      return found.filter((place) => line === undefined || lineOf(place) === Number(line));
    });
  });
  const chosen: Place[] = [];
  for (const place of shuffled(all, seed)) {
    if (chosen.length >= sample) break;
    if (check.accepts(join(TOP, place.file), applyMutant(texts.get(place.file) ?? '', place.mutant))) chosen.push(place);
  }
  return chosen;
}

function sourcesOf(path: string): string[] {
  if (statSync(join(TOP, path)).isFile()) return [path];
  const files = readdirSync(join(TOP, path), { recursive: true, encoding: 'utf8' });
  return files.filter((file) => /(?<!\.test|\.fixture)\.ts$/.test(file)).map((file) => join(path, file));
}

async function judgeAll(): Promise<void> {
  using copy = new Copy(TOP);
  using runner = new TestRunner(copy.folder, join(copy.folder, HITS), { isWhole: false });
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      runner.kill();
      copy[Symbol.dispose]();
      process.exit(130);
    });
  const tests = new TestFiles(TOP);
  const related = new Map([...new Set(places.map(({ file }) => file))].map((file) => [file, tests.related(file)]));
  const { hits, took, failed, errors } = await record(copy, related);
  if (failed.length > 0) say(`left out, as they fail without a change: ${[...failed, ...errors].join(', ')}`);
  const judged: Judged[] = [];
  /** Source file → test files that noticed a change of it. They run first for the next change. */
  const noticing = new Map<string, Set<string>>();
  for (const [index, place] of places.entries()) {
    const near = related.get(place.file) ?? new Map<string, number>();
    const isAtImport = hits.some(({ atImport }) => atImport.includes(index));
    const reached = isAtImport ? [...near.keys()] : hits.filter(({ inTests }) => inTests.includes(index)).map(({ file }) => file);
    const noticers = noticing.get(place.file) ?? new Set();
    const far = (file: string): number => (noticers.has(file) ? 0 : (near.get(file) ?? 99));
    const order = (file: string): number => far(file) * 1_000_000 + (took.get(file) ?? 0);
    const usable = reached.filter((file) => !failed.includes(file)).sort((a, b) => order(a) - order(b));
    const trial = { index, place, files: usable.slice(0, maxFiles), took };
    const one = { ...(await judge(copy, runner, trial)), untried: usable.slice(maxFiles) };
    judged.push(one);
    noticing.set(place.file, new Set([...noticers, ...one.by]));
    say(
      `${String(index + 1)}/${String(places.length)} ${one.outcome === 'passed' ? 'SURVIVED' : one.outcome} ${shown(one)} ${[...one.by, ...one.errors].join(', ')}`,
    );
  }
  runner.end();
  const left = judged.filter((one) => !isNoticed(one));
  if (values.quick || left.length === 0) return sum(judged, []);
  const untried = new Set(left.flatMap((one) => one.untried));
  const files = [...untried, ...tests.ofOtherProjects()];
  say(`\nsecond stage: ${String(left.length)} changes at once, with ${String(files.length)} test files`);
  sum(judged, await noticedBySecondStage({ copy, texts, changes: left, files, say, shown }));
}

/** Runs all related tests once, with a count in each block that has a change. */
async function record(
  copy: Copy,
  related: Map<string, Map<string, number>>,
): Promise<{ hits: Hits[]; took: Took; failed: readonly string[]; errors: readonly string[] }> {
  for (const file of related.keys()) {
    let text = texts.get(file) ?? '';
    const inserts = places.flatMap(({ file: of, mutant }, index) => {
      if (of !== file) return [];
      const block = blockAround(text, mutant.start);
      const hit = hitOf(index);
      if (block === null) return [{ at: text.length, text: `\n;${hit};` }];
      if (block.isBlock) return [{ at: block.start + 1, text: `${hit};` }];
      return [
        { at: block.start, text: `(${hit}, ` },
        { at: block.end, text: ')' },
      ];
    });
    for (const insert of inserts.sort((a, b) => b.at - a.at))
      text = text.slice(0, insert.at) + insert.text + text.slice(insert.at);
    copy.write(file, text);
  }
  const all = [...new Set([...related.values()].flatMap((files) => [...files.keys()]))];
  say(`${String(all.length)} test files are related; they run once without a change`);
  using runner = new TestRunner(copy.folder, join(copy.folder, HITS), { isWhole: true });
  const run = await runner.run(all, RECORD_TIMEOUT_MS);
  for (const file of related.keys()) copy.write(file, texts.get(file) ?? '');
  const hits = hitsIn(copy);
  if (hits.length === 0) throw new Error(`no test file ran: ${[run.outcome, ...run.errors].join(', ')}`);
  return { hits, took: new Map(run.took), failed: run.failed, errors: run.errors };
}

/** What the test files since the last call came to. */
function hitsIn(copy: Copy): Hits[] {
  const file = join(copy.folder, HITS);
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  rmSync(file, { force: true });
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Hits]));
}

type Trial = { readonly index: number; readonly place: Place; readonly files: readonly string[]; readonly took: Took };

async function judge(copy: Copy, runner: TestRunner, { index, place, files, took }: Trial): Promise<Omit<Judged, 'untried'>> {
  if (files.length === 0) return { ...place, outcome: 'not reached', by: [], errors: [] };
  const write = (text: string): void => {
    copy.write(place.file, text);
    runner.changed(place.file);
  };
  const slowest = Math.max(...files.map((file) => took.get(file) ?? 0));
  const text = applyMutant(texts.get(place.file) ?? '', place.mutant);
  try {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      write(`${text}\n;${hitOf(index)};`);
      const { outcome, failed, errors } = await againIfLate(async (isAlone) => {
        if (!isAlone) return await runner.run(files, MIN_TIMEOUT_MS + SLOWER * slowest);
        using alone = new TestRunner(copy.folder, join(copy.folder, HITS), { isWhole: false, isAlone });
        return await alone.run(files, MIN_TIMEOUT_MS + SLOWER * slowest);
      });
      const isLoaded = hitsIn(copy).some((hits) => [...hits.atImport, ...hits.inTests].includes(index));
      const isCertain = outcome === 'failed' || outcome === 'timed out' || (outcome === 'passed' && isLoaded);
      if (isCertain) return { ...place, outcome, by: failed, errors };
      // A cache of vitest had the text from before the change, or files did not run: a new process has no such state.
      runner.end();
    }
    return { ...place, outcome: 'incomplete', by: [], errors: [] };
  } finally {
    write(texts.get(place.file) ?? '');
  }
}

/** Notes that a change was come to. */
function hitOf(index: number): string {
  return `(globalThis.mutationHits ??= new Set()).add(${String(index)})`;
}

function isNoticed({ outcome }: Judged): boolean {
  return outcome === 'failed' || outcome === 'timed out';
}

function sum(judged: readonly Judged[], later: readonly Noticed<Judged>[]): void {
  const inSecondStage = new Set(later.map(({ change }) => change));
  const survivors = judged.filter((one) => !isNoticed(one) && !inSecondStage.has(one));
  say('\nnoticed by file:');
  for (const [file, of] of Map.groupBy(judged, ({ file }) => file))
    say(`  ${String(of.filter((one) => !survivors.includes(one)).length)}/${String(of.length)} ${file}`);
  say(`\nnoticed in the second stage:${later.length === 0 ? ' none' : ''}`);
  for (const { change, by } of later) say(`  ${shown(change)} ${by}`);
  say(`\nnot noticed:${survivors.length === 0 ? ' none' : ''}`);
  for (const one of survivors)
    say(`  ${shown(one)}${one.outcome === 'not reached' ? ' (no test of the first stage comes there)' : ''}`);
  const inFirst = judged.filter(isNoticed).length;
  const stages = `${String(inFirst)} by the tests of unit, ${String(later.length)} in the second stage`;
  say(`\n${String(judged.length - survivors.length)} of ${String(judged.length)} noticed (${stages}), seed ${String(seed)}`);
}

function lineOf({ file, mutant }: Place): number {
  return (texts.get(file) ?? '').slice(0, mutant.start).split('\n').length;
}

function shown(place: Place): string {
  const { start, end, replacement, kind } = place.mutant;
  const short = (text: string): string => text.replaceAll(/\s+/g, ' ').slice(0, 100);
  const old = (texts.get(place.file) ?? '').slice(start, end);
  return `${place.file}:${String(lineOf(place))} ${kind}: ${short(old)} → ${short(replacement)}`;
}
