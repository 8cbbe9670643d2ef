// The folder of Kuma's programs, which are not in this repository.
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The folder that `MERIDIAN_PEERS` names. */
    peersFolder: string;
  }
}

const PROGRAMS = ['kuma-cp', 'kumactl', 'kuma-dp'] as const;

export type Program = (typeof PROGRAMS)[number];

/**
 * Path of a program of the peer.
 * @throws Error that names the variable to set, when the program is not in the folder
 */
export function peerProgram(folder: string, program: Program): string {
  const path = join(folder, program);
  try {
    accessSync(path, constants.X_OK);
  } catch {
    throw new Error(`${path} is not an executable file; MERIDIAN_PEERS must name a folder with ${PROGRAMS.join(', ')}`);
  }
  return path;
}
