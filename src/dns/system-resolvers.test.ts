import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createLogger } from '../base/log.ts';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { SystemResolvers } from './system-resolvers.ts';

async function setUp() {
  const folder = await mkdtemp(join(tmpdir(), 'meridian-resolv-'));
  onTestFinished(async () => await rm(folder, { recursive: true }));
  const file = join(folder, 'resolv.conf');
  const clock = new ManualClock();
  const system = new SystemResolvers(file, { clock, log: createLogger('silent') });
  const servers = async (): Promise<string[]> => (await system.current()).servers.map(({ address }) => address);
  /** As programs do that manage the file. */
  const replace = async (text: string): Promise<void> => {
    await writeFile(`${file}.new`, text);
    await rename(`${file}.new`, file);
  };
  return { file, clock, servers, replace };
}

it('the resolvers are those of the file now, with one look a second at most', async () => {
  const { clock, servers, replace } = await setUp();
  await replace('nameserver 10.0.0.2\n');
  expect(await servers()).toEqual(['10.0.0.2']);
  await replace('nameserver 10.0.0.3\n');
  expect(await servers()).toEqual(['10.0.0.2']);
  await clock.advance(1_000);
  expect(await Promise.all([servers(), servers()])).toEqual([['10.0.0.3'], ['10.0.0.3']]);
});

it('a file that is gone or names no server changes nothing', async () => {
  const { file, clock, servers, replace } = await setUp();
  await replace('nameserver 10.0.0.2\n');
  expect(await servers()).toEqual(['10.0.0.2']);
  await rm(file);
  await clock.advance(1_000);
  expect(await servers()).toEqual(['10.0.0.2']);
  await writeFile(file, '# half written\n');
  await clock.advance(1_000);
  expect(await servers()).toEqual(['10.0.0.2']);
  await writeFile(file, '# half written\nnameserver 10.0.0.4\n');
  await clock.advance(1_000);
  expect(await servers()).toEqual(['10.0.0.4']);
});

it('the resolver is that of this machine where no file is', async () => {
  const { servers } = await setUp();
  expect(await servers()).toEqual(['127.0.0.1']);
});
