// The files of src in which a function runs during a piece of work, by V8's precise coverage. Tests compare the lists of docs/flow.md
// with it.
import type { Profiler } from 'node:inspector';
import { Session } from 'node:inspector/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const SRC = join(import.meta.dirname, '../../src');
/** The getter that vitest puts around each export: reading a constant of another file runs one. */
const EXPORT = /^\(\)\s*=>\s*\{\s*try\s*\{\s*return /;

/**
 * @param work calls `end` if the way ends before the work
 * @returns paths relative to src, sorted. The top level of a module does not count: it runs once, at the import. Call the work
 *   several times before: the first call of a lazy step would count.
 */
export async function filesRun(work: (end: () => void) => Promise<unknown>): Promise<string[]> {
  const session = new Session();
  session.connect();
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    const take = (): Promise<Profiler.TakePreciseCoverageReturnType> => session.post('Profiler.takePreciseCoverage');
    // Reading the counts resets them at the time of the call.
    await take();
    const taken: Promise<Profiler.TakePreciseCoverageReturnType>[] = [];
    await work(() => void taken.push(take()));
    const { result } = await (taken[0] ?? take());
    await session.post('Debugger.enable');
    const files = new Set<string>();
    for (const { url, scriptId, functions } of result) {
      const [path] = pathsIn(url);
      if (path === undefined) continue;
      const { scriptSource } = await session.post('Debugger.getScriptSource', { scriptId });
      const ran = functions.flatMap(({ ranges: [whole] }) => (whole !== undefined && whole.count > 0 ? [whole] : []));
      if (ran.some(({ startOffset, endOffset }) => !EXPORT.test(scriptSource.slice(startOffset, endOffset)))) files.add(path);
    }
    return [...files].sort();
  } finally {
    session.disconnect();
  }
}

function pathsIn(url: string): string[] {
  if (!url.startsWith('file:')) return [];
  const path = relative(SRC, fileURLToPath(url));
  return path.startsWith('..') ? [] : [path];
}
