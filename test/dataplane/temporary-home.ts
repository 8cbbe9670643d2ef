// A folder with programs of a test: scripts that stand for python3 and Envoy.
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';

/** An empty folder that goes with the test. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'meridian-dataplane-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

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
