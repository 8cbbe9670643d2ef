// A pipe that Envoy can open by a name. Node gives a child a pair of sockets, which cannot be opened as /dev/stdout or /dev/stderr.
import { execFile } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { promisify } from 'node:util';

export type NamedPipe = {
  /** Ends when no process has the other end open any more. */
  readonly reader: Socket;
  readonly writeFd: number;
  /** Closes the writing end of this process, once a child has it. */
  readonly closeWriter: () => void;
};

/** Makes a pipe in the file system, for this user alone. Null where this machine has no `mkfifo`, or takes no name of this length. */
export async function makeNamedPipe(path: string): Promise<NamedPipe | null> {
  try {
    await rm(path, { force: true });
    await promisify(execFile)('mkfifo', ['-m', '600', path]);
  } catch {
    return null;
  }
  // In this order neither waits for the other.
  const reading = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writeFd = openSync(path, constants.O_WRONLY);
  const reader = new Socket({ fd: reading, readable: true, writable: false });
  return { reader, writeFd, closeWriter: () => closeSync(writeFd) };
}
