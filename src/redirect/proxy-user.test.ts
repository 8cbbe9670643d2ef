// The folder of a proxy whose user is another one.
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { makeUserFolder } from './proxy-user.ts';

it('gives the user each folder that it makes, and no other', async () => {
  const home = await mkdtemp(join(tmpdir(), 'meridian-user-'));
  onTestFinished(async () => await rm(home, { recursive: true }));
  const { uid: own, gid } = await stat(home);
  // Only root can give a folder away.
  const uid = own === 0 ? 12_345 : own;
  await makeUserFolder(join(home, '.meridian', 'dataplane', 'shop.cart-1'), { name: 'proxy', uid, gid, groups: [], home });
  const owners = ['.meridian', '.meridian/dataplane', '.meridian/dataplane/shop.cart-1'].map(
    async (name) => (await stat(join(home, name))).uid,
  );
  expect(await Promise.all(owners)).toEqual([uid, uid, uid]);
  expect((await stat(home)).uid).toBe(own);
});
