// Runs the first command of the README without an Envoy. Where an Envoy is found, demo.envoy.test.ts does all of this with it.
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { hashName } from '../../src/resource/hash-name.ts';

const TOP = join(import.meta.dirname, '../..');

it('the demo verifies the shop, exits 0 and leaves nothing behind', async () => {
  // A folder of its own: another demo may run on this machine.
  const folder = mkdtempSync(join(tmpdir(), 'demo-test-'));
  try {
    const env = { ...process.env, TMPDIR: folder };
    const { stdout } = await promisify(execFile)('npm', ['start', '--', '--once', '--no-envoy'], {
      cwd: TOP,
      timeout: 250_000,
      env,
    });
    expect(stdout).toContain(hashName({ mesh: 'shop', name: 'slow' }));
    expect(stdout).toContain(hashName({ mesh: 'payments', name: 'slow' }));
    expect(stdout).toContain('zone=east ingress=-');
    expect(stdout).toContain('Not shown: requests through Envoy proxies (--no-envoy was given).');
    expect(stdout).toContain('All stopped.');
    // npm keeps its own compiled sources there.
    expect(readdirSync(folder).filter((name) => name !== 'node-compile-cache')).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
