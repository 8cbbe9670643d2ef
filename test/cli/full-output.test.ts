// A command whose output cannot be written.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { MERIDIAN } from '../support/control-plane.ts';

it('a command says that it cannot write its output, without a stack trace', async () => {
  const run = promisify(execFile)('/bin/sh', ['-c', `"${MERIDIAN}" --help > /dev/full`]);
  const { code, stderr } = (await run.catch((error: unknown) => error)) as { code?: number; stderr: string };
  expect(stderr).toBe('meridian: cannot write the output: ENOSPC: no space left on device, write\n');
  expect(code).toBe(1);
});
