// Runs the first command of the README.
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, inject, it } from 'vitest';
import { hashName } from '../../src/resource/hash-name.ts';

const TOP = join(import.meta.dirname, '../..');

/** It starts three control planes, Envoys and applications in two zones: on a busy machine that takes minutes. */
const PATIENCE_MS = 290_000;

it(
  'the demo verifies the shop, sends requests through Envoys, exits 0 and leaves nothing behind',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'demo-test-'));
    try {
      const env = { ...process.env, TMPDIR: folder, MERIDIAN_ENVOY: inject('envoy') };
      const { stdout } = await promisify(execFile)('npm', ['start', '--', '--once'], { cwd: TOP, timeout: PATIENCE_MS, env });
      for (const mesh of ['shop', 'payments']) expect(stdout).toContain(hashName({ mesh, name: 'slow' }));
      expect(stdout).toMatch(/zone=east ingress=127\.0\.0\.1:\d+/);
      const rows = stdout.split('\n').filter((line) => /^(east|west) +\d+ +v1 \d+, v2 \d+ /.test(line));
      expect(rows).toHaveLength(2);
      for (const row of rows) expect(row).toMatch(/ \d+\.\d ms +0$/);
      for (const [from, to] of [
        ['east', 'west'],
        ['west', 'east'],
      ] as const)
        expect(stdout).toMatch(new RegExp(`${from} +${to} +spiffe://shop\\.${from}\\.mesh\\.local/app/cart `));
      expect(stdout).toMatch(/The catalog of west was taken out under requests: .* 0 of \d+ requests failed\./);
      expect(stdout).toContain('All stopped.');
      // npm keeps its own compiled sources there.
      expect(readdirSync(folder).filter((name) => name !== 'node-compile-cache')).toEqual([]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
  PATIENCE_MS + 10_000,
);
