import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readTokenEnd, readTokenFile } from './read-token-file.ts';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'meridian-token-'));
});
afterAll(() => rm(folder, { recursive: true }));

it('the token file is read without surrounding white space', async () => {
  await writeFile(join(folder, 'good'), '  aa.b-b.c_c\n');
  expect(await readTokenFile(join(folder, 'good'))).toBe('Bearer aa.b-b.c_c');
});

it('no file gives no token', async () => {
  expect(await readTokenFile('')).toBeNull();
});

it('an unreadable token file is an error with its key and path', async () => {
  await expect(readTokenFile(join(folder, 'absent'))).rejects.toMatchObject({
    code: 'config',
    message: `multizone.zone.kds.auth.tokenFile: ${join(folder, 'absent')} cannot be read (ENOENT)`,
  });
});

it.each(['', 'half a.secret', 'a.b', 'a.b.c\nd.e.f', 'Bearer a.b.c'])(
  'an invalid token is not repeated in the error: %o',
  async (text) => {
    const path = join(folder, 'bad');
    await writeFile(path, text);
    await expect(readTokenFile(path)).rejects.toThrow(
      `multizone.zone.kds.auth.tokenFile: ${path} holds no token; it must hold what "meridian generate zone-token" prints`,
    );
  },
);

it('the expiry of a token is read, and is absent for a token without one', async () => {
  const path = join(folder, 'ending');
  const tokenOf = (claims: unknown): string => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2ln`;
  await writeFile(path, tokenOf({ exp: 1_767_225_600 }));
  expect(await readTokenEnd(path)).toEqual(new Date('2026-01-01T00:00:00Z'));
  for (const text of [tokenOf({}), tokenOf({ exp: 'never' }), tokenOf(7), 'aa.b-b.c_c']) {
    await writeFile(path, text);
    expect(await readTokenEnd(path)).toBeNull();
  }
  expect(await readTokenEnd('')).toBeNull();
  await expect(readTokenEnd(join(folder, 'absent'))).rejects.toMatchObject({ code: 'config' });
});
