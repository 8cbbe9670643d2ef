// Runs the first command of the README with an Envoy.
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, inject, it } from 'vitest';

const TOP = join(import.meta.dirname, '../..');

it('the demo sends requests through Envoys, exits 0 and leaves nothing behind', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'demo-test-'));
  try {
    const env = { ...process.env, TMPDIR: folder, MERIDIAN_ENVOY: inject('envoy') };
    const { stdout } = await promisify(execFile)('npm', ['start', '--', '--once'], { cwd: TOP, timeout: 170_000, env });
    const rows = stdout.split('\n').filter((line) => /^(east|west) +\d+ +v1 \d+, v2 \d+ /.test(line));
    expect(rows).toHaveLength(2);
    for (const row of rows) expect(row).toMatch(/ \d+\.\d ms +0$/);
    expect(stdout).toContain('All stopped.');
    // npm keeps its own compiled sources there.
    expect(readdirSync(folder).filter((name) => name !== 'node-compile-cache')).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
