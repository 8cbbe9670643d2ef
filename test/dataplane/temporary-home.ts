// Programs of a test: scripts that stand for python3 and Envoy.
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Writes a file that can be executed, and the folders above it. Returns its path. */
export async function writeProgram(path: string, text: string): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  await chmod(path, 0o755);
  return path;
}

/** A shell script that says the version of an Envoy. */
export function saysVersion(version: string): string {
  return `#!/bin/sh\necho "$0  version: 0123abc/${version}/Clean/RELEASE/BoringSSL"\n`;
}
