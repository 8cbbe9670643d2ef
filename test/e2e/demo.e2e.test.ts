// The README's first command, as a newcomer's script would run it.
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { hashName } from '../../src/resource/hash-name.ts';

const MERIDIAN = join(import.meta.dirname, '../../bin/meridian');

it('the demo verifies the shop, exits 0 and leaves nothing behind', async () => {
  const folders = (): string[] => readdirSync(tmpdir()).filter((name) => name.startsWith('meridian-demo-'));
  const before = folders();
  const { stdout } = await promisify(execFile)(MERIDIAN, ['demo', '--once'], { timeout: 150_000 });
  expect(stdout).toContain(hashName({ mesh: 'shop', name: 'slow' }));
  expect(stdout).toContain(hashName({ mesh: 'payments', name: 'slow' }));
  expect(stdout).toContain('All stopped.');
  expect(folders()).toEqual(before);
});
