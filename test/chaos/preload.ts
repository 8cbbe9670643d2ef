// Modules that are loaded into a process under test, and their queries.
import { join } from 'node:path';
import type { ControlPlane } from '../support/control-plane.ts';

/** Environment of a process that loads `preload/<name>.ts` first. */
export function preloaded(name: 'memory' | 'clock' | 'hurry'): Record<string, string> {
  return { NODE_OPTIONS: `--import=${join(import.meta.dirname, 'preload', `${name}.ts`)}` };
}

/** The bytes in use of a process with `preloaded('memory')`, on its heap and in buffers, after a garbage collection. */
export async function memoryUsed({ child }: ControlPlane): Promise<number> {
  if (child?.stdout == null) throw new Error('the process was not started');
  const { stdout } = child;
  return await new Promise((resolve, reject) => {
    const ended = (): void => reject(new Error('the process ended'));
    const read = (bytes: Buffer): void => {
      const found = /memory-used (\d+) (\d+)/.exec(bytes.toString());
      if (found === null) return;
      stdout.off('data', read);
      child.off('exit', ended);
      resolve(Number(found[1]) + Number(found[2]));
    };
    stdout.on('data', read);
    child.once('exit', ended);
    child.kill('SIGUSR2');
  });
}
