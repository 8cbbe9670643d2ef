// Runs the programs of a firewall.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

export type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

/** Shells of ordinary users often leave these folders out. */
const FOLDERS = '/usr/local/sbin:/usr/sbin:/sbin';

/** Runs a program to its end. @param input its standard input @returns null if there is no such program */
export async function runProgram(program: string, args: readonly string[], input = ''): Promise<Ended | null> {
  const path = `${process.env['PATH'] ?? ''}:${FOLDERS}`;
  const child = spawn(program, [...args], { env: { ...process.env, PATH: path, LC_ALL: 'C' }, stdio: 'pipe' });
  // It may end before it has read everything.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  try {
    const closed = once(child, 'close') as Promise<[number | null]>;
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
    return { code, stdout, stderr };
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return null;
    throw error;
  }
}
