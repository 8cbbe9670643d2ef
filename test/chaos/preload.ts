// What is loaded into a process under test, and what can be asked of it then.
import { join } from 'node:path';
import type { ControlPlane } from '../support/control-plane.ts';

/** Environment of a process that loads `preload/<name>.ts` first. */
export function preloaded(name: 'heap' | 'clock' | 'hurry'): Record<string, string> {
  return { NODE_OPTIONS: `--import=${join(import.meta.dirname, 'preload', `${name}.ts`)}` };
}

/** Bytes on the heap of a process with `preloaded('heap')` after its garbage was collected. */
export async function heapUsed({ child }: ControlPlane): Promise<number> {
  if (child?.stdout == null) throw new Error('the process was not started');
  const { stdout } = child;
  return await new Promise((resolve, reject) => {
    const ended = (): void => reject(new Error('the process ended'));
    const read = (bytes: Buffer): void => {
      const found = /heap-used (\d+)/.exec(bytes.toString());
      if (found === null) return;
      stdout.off('data', read);
      child.off('exit', ended);
      resolve(Number(found[1]));
    };
    stdout.on('data', read);
    child.once('exit', ended);
    child.kill('SIGUSR2');
  });
}
