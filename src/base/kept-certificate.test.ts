import { createPrivateKey, X509Certificate } from 'node:crypto';
import { chmod, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { keptCertificate } from './kept-certificate.ts';

const now = new Date('2026-01-01T00:00:00Z');
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'meridian-kept-'));
});
afterEach(async () => {
  await chmod(folder, 0o700);
  await rm(folder, { recursive: true });
});

it('makes one pair, however many ask at once, and keeps it', async () => {
  const at = join(folder, 'east', 'dp-server');
  const asked = await Promise.all(Array.from({ length: 4 }, () => keptCertificate(at, ['localhost', '::1'], now)));
  const files = { cert: join(at, 'cert.pem'), key: join(at, 'key.pem') };
  expect(asked).toEqual([files, files, files, files]);
  expect(await readdir(join(folder, 'east'))).toEqual(['dp-server']);
  const pem = await readFile(files.cert, 'utf8');
  const certificate = new X509Certificate(pem);
  expect(certificate.checkPrivateKey(createPrivateKey(await readFile(files.key)))).toBe(true);
  expect([certificate.checkHost('localhost'), certificate.checkIP('::1')]).toEqual(['localhost', '::1']);
  expect((await stat(files.key)).mode & 0o077).toBe(0);
  await keptCertificate(at, ['other'], now);
  expect(await readFile(files.cert, 'utf8')).toBe(pem);
});

it('rejects where the folder cannot be made', async () => {
  await expect(keptCertificate('/dev/null/dp-server', ['localhost'], now)).rejects.toThrow(/EEXIST|ENOTDIR/);
});
