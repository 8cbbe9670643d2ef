// Threads for the documents of callers: the order of the callers, and the end of work.
import { readdirSync, readFileSync } from 'node:fs';
import { constants, getPriority } from 'node:os';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../base/clock.ts';
import { DocumentThreads } from './document-threads.ts';
import type { YamlAnswer } from '../http/yaml-answers.ts';

const threads = new DocumentThreads(systemClock);
afterEach(() => threads.stop());

const never = new AbortController().signal;
/** A document that takes some seconds of CPU. */
const HEAVY = `[${'!a 1,'.repeat(40_000)}1]`;

const read = (caller: string, text: string, left = never): Promise<YamlAnswer> =>
  threads.ask({ kind: 'read', text }, { caller, left });

/** The priority of each thread of this process. Only Linux has one for each. */
function priorities(): Map<number, number> {
  const folder = '/proc/self/task';
  const ids = process.platform === 'linux' ? readdirSync(folder).map(Number) : [];
  return new Map(
    ids.map((id) => {
      const stat = readFileSync(`${folder}/${String(id)}/stat`, 'utf8');
      return [id, Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])];
    }),
  );
}

describe('documents', () => {
  it('are read with a low priority, and the control plane keeps its own', async () => {
    const before = getPriority();
    await read('a', 'a: 1');
    expect(getPriority()).toBe(before);
    const after = priorities();
    const low = [...after].filter(([, priority]) => priority > before).map(([, priority]) => priority);
    expect(low).toEqual(after.size === 0 ? [] : [Math.max(before, constants.priority.PRIORITY_BELOW_NORMAL)]);
  });

  it('of one caller do not wait for those of another', async () => {
    const leave = new AbortController();
    const heavy = Array.from({ length: 12 }, () => read('heavy', HEAVY, leave.signal));
    for (let n = 0; n < 5; n += 1) expect(await read('light', 'a: 1')).toEqual({ kind: 'documents', documents: ['{"a":1}'] });
    leave.abort(new Error('left'));
    const outcomes = await Promise.allSettled(heavy);
    // In one queue the small documents would have come after all large ones.
    expect(outcomes.at(-1)).toMatchObject({ status: 'rejected', reason: { message: 'left' } });
  });

  it('of a caller who has left are not read on, and the next is read', async () => {
    const leave = new AbortController();
    const heavy = [read('a', HEAVY, leave.signal), read('a', HEAVY, leave.signal)];
    leave.abort(new Error('left'));
    expect(await Promise.allSettled(heavy)).toMatchObject(heavy.map(() => ({ status: 'rejected', reason: { message: 'left' } })));
    await expect(read('a', HEAVY, leave.signal)).rejects.toThrow('left');
    expect(await read('a', 'a: 1')).toMatchObject({ kind: 'documents' });
  });

  it('of one caller and of all callers wait in bounded numbers', async () => {
    const leave = new AbortController();
    const ask = (caller: string): Promise<unknown> => read(caller, HEAVY, leave.signal).catch((error: unknown) => error);
    const own = Array.from({ length: 18 }, () => ask('a'));
    expect(await own.at(-1)).toMatchObject({ status: 429, retryAfterS: 1 });
    const others = Array.from({ length: 200 }, (_, at) => ask(`b${String(at % 20)}`));
    expect(await others.at(-1)).toMatchObject({ status: 503, retryAfterS: 1 });
    leave.abort(new Error('left'));
    await Promise.all([...own, ...others]);
  });
});
