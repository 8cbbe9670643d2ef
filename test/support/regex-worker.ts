// Runs one regular expression on many texts, in CPU time, which does not depend on other work on the machine. It answers with the first
// text that is slow, and its first message means that it is ready. The texts are made here: to send them costs more than most searches.
import { parentPort, workerData } from 'node:worker_threads';

/** A beginning, and the part that follows it again and again. */
export type HostileText = { readonly head: string; readonly pump: string };

export type Attack = {
  readonly source: string;
  readonly flags: string;
  readonly texts: readonly HostileText[];
  /** Characters of a text, without its beginning. */
  readonly length: number;
  /** The CPU time in milliseconds that a search may take. */
  readonly maxMs: number;
};

/** The number of a text and the CPU time of its search. */
export type Slow = { readonly at: number; readonly ms: number };

/** One that is slow once may have met a pause of the engine. */
const TRIES = 4;

const searched = workerData as Int32Array;

parentPort?.postMessage('ready');
parentPort?.on('message', (attack: Attack) => parentPort?.postMessage(firstSlow(attack)));

function firstSlow({ source, flags, texts, length, maxMs }: Attack): Slow | null {
  const regex = new RegExp(source, flags.replace('g', ''));
  for (const [at, { head, pump }] of texts.entries()) {
    Atomics.store(searched, 0, at);
    const text = `${head}${pump.repeat(Math.ceil(length / pump.length))}\u0001`;
    let ms = Infinity;
    for (let tries = 0; tries < TRIES && ms > maxMs; tries += 1) ms = Math.min(ms, cpuOf(regex, text));
    if (ms > maxMs) return { at, ms };
  }
  return null;
}

function cpuOf(regex: RegExp, text: string): number {
  const before = process.threadCpuUsage();
  regex.lastIndex = 0;
  regex.test(text);
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}
