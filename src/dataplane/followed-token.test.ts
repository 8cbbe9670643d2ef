import { mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { FollowedToken } from './followed-token.ts';

function follow(file: string, give: (token: string) => Promise<void> = async () => undefined) {
  const given: string[] = [];
  const logged: string[] = [];
  const clock = new ManualClock();
  const token = new FollowedToken({
    file,
    read: async () => await readFile(file, 'utf8'),
    give: async (text) => {
      await give(text);
      given.push(text);
    },
    clock,
    log: pino({ level: 'info' }, { write: (line: string) => void logged.push(line) }),
  });
  const over = new AbortController();
  const ended = token.follow(over.signal);
  onTestFinished(async () => {
    over.abort();
    await ended;
  });
  return { token, given, logged, clock };
}

async function replace(file: string, text: string): Promise<void> {
  await writeFile(`${file}.new`, text);
  await rename(`${file}.new`, file);
}

describe('the token of a file', () => {
  it('is given to Envoy once, and again when it changes', async () => {
    const file = join(temporaryFolder(), 'token');
    await writeFile(file, 'one');
    const { token, given, logged } = follow(file);
    expect([await token.read(), await token.read()]).toEqual(['one', 'one']);
    await replace(file, 'two');
    await expect.poll(() => given).toEqual(['one', 'two']);
    expect(logged.join('')).toContain('there is a new token');
  });

  it('is seen within a minute behind a link into another folder', async () => {
    const [folder, other] = [temporaryFolder(), temporaryFolder()];
    const file = join(folder, 'token');
    await writeFile(join(other, 'token'), 'one');
    await symlink(join(other, 'token'), file);
    const { token, given, clock } = follow(file);
    await token.read();
    await replace(join(other, 'token'), 'two');
    await clock.advance(60_000);
    await expect.poll(() => given).toEqual(['one', 'two']);
  });

  it('is seen within a minute where its folder was away', async () => {
    const folder = join(temporaryFolder(), 'secrets');
    const file = join(folder, 'token');
    const { given, logged, clock } = follow(file);
    await expect.poll(() => logged.join('')).toContain('a new token is seen after a minute at the latest');
    await clock.advance(60_000);
    await expect.poll(() => logged.join('')).toContain('Envoy keeps its present token');
    await mkdir(folder);
    await writeFile(file, 'one');
    await clock.advance(60_000);
    await expect.poll(() => given).toEqual(['one']);
    await rm(folder, { recursive: true });
    await clock.advance(60_000);
    await expect.poll(() => logged.filter((line) => line.includes('keeps its present token'))).toHaveLength(2);
  });

  it('is the last one for Envoy when two readings overlap', async () => {
    const file = join(temporaryFolder(), 'token');
    await writeFile(file, 'one');
    const [begun, slow] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const { token, given } = follow(file, async (text) => {
      if (text !== 'one') return;
      begun.resolve();
      await slow.promise;
    });
    const readings = [token.read(), token.read()];
    await begun.promise;
    await writeFile(file, 'two');
    slow.resolve();
    expect(await Promise.all(readings)).toEqual(['one', 'two']);
    expect(given).toEqual(['one', 'two']);
  });
});
