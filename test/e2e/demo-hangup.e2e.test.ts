// A demo without a terminal or without a reader of its output. It leaves no process and no file behind.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { endWithTest } from '../support/children.ts';
import { MERIDIAN_OF_USERS, WAIT } from '../support/control-plane.ts';

/** The processes whose environment names the folder. */
function processesIn(folder: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, 'utf8').includes(folder);
    } catch {
      return false;
    }
  });
}

/** Runs the demo, sends it SIGHUP when its control planes run, and waits for its end. @returns its exit code, and what is left of it */
async function hungUp(command: string, args: readonly string[], { isRead }: { isRead: boolean }): Promise<unknown> {
  const folder = mkdtempSync(join(tmpdir(), 'demo-test-'));
  try {
    const env = { ...process.env, TMPDIR: folder };
    const words = [...args, 'demo', '--once', '--no-envoy'];
    const child = endWithTest(spawn(command, words, { env, stdio: ['ignore', 'pipe', 'inherit'] }));
    const ended = once(child, 'exit') as Promise<[number | null]>;
    if (isRead) child.stdout.resume();
    else child.stdout.destroy();
    const started = (): void => expect(processesIn(join(folder, 'meridian-demo-')).length).toBeGreaterThanOrEqual(3);
    // Each look reads the environments of all processes of the machine.
    await vi.waitFor(started, { ...WAIT, interval: 500 });
    child.kill('SIGHUP');
    const [code] = await ended;
    return { code, processes: processesIn(folder), files: readdirSync(folder).filter((name) => name !== 'node-compile-cache') };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

it('the demo stops all of its processes when its terminal is closed (SIGHUP)', async () => {
  expect(await hungUp(MERIDIAN_OF_USERS, [], { isRead: true })).toEqual({ code: 1, processes: [], files: [] });
});

it('the demo finishes under nohup and without a reader of its output, as in `demo --once | head`', async () => {
  expect(await hungUp('nohup', [MERIDIAN_OF_USERS], { isRead: false })).toEqual({ code: 0, processes: [], files: [] });
});
