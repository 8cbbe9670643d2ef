import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, lchown, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { systemClock } from '../base/clock.ts';
import { createLogger } from '../base/log.ts';
import { defaultWorkFolder, WorkFolder } from './work-folder.ts';

const context = { clock: systemClock, log: createLogger('silent') };
let top = '';

beforeEach(async () => {
  top = await mkdtemp(join(tmpdir(), 'meridian-work-'));
  onTestFinished(() => rm(top, { recursive: true, force: true }));
});

describe('the usual folder of a proxy', () => {
  it('is in the home folder, and elsewhere where a socket would have too long a path', () => {
    expect(defaultWorkFolder('shop', 'cart-1', '/home/jo')).toBe('/home/jo/.meridian/dataplane/shop.cart-1');
    const long = defaultWorkFolder('m'.repeat(60), 'd'.repeat(60), '/home/jo');
    expect(long).toMatch(/\/meridian-dataplane-[0-9a-f]{16}$/);
    expect(defaultWorkFolder('m'.repeat(60), 'e'.repeat(60), '/home/jo')).not.toBe(long);
  });
});

describe('the folder of a proxy', () => {
  it('is for one launcher and one user, and goes when it is empty', async () => {
    const path = join(top, 'a/b');
    const folder = await WorkFolder.open(path, context);
    expect((await stat(path)).mode & 0o777).toBe(0o700);
    await expect(WorkFolder.open(path, context)).rejects.toThrow(`another \`meridian dataplane run\` uses ${path}`);
    await folder.writeBootstrap({ node: { id: 'a' } });
    expect((await stat(folder.configFile)).mode & 0o777).toBe(0o600);
    await folder.writeBootstrap({ node: { id: 'b' } });
    expect(JSON.parse(await readFile(folder.configFile, 'utf8'))).toEqual({ node: { id: 'b' } });
    await folder.close();
    expect(await readdir(join(top, 'a'))).toEqual([]);
    await (await WorkFolder.open(path, context)).close();
  });

  it('keeps files of others', async () => {
    await writeFile(join(top, 'mine'), '');
    await (await WorkFolder.open(top, context)).close();
    expect(await readdir(top)).toEqual(['mine']);
  });

  it('takes over what a killed launcher left', async () => {
    await writeFile(join(top, 'run.sock'), '');
    const folder = await WorkFolder.open(top, context);
    await folder.close();
    expect(await readdir(top).catch(() => [])).toEqual([]);
  });

  it('ends the Envoy of a killed launcher that wrote nothing down, also under another spelling of the path, and no other process', async () => {
    const [path, link] = [join(top, 'proxy'), join(top, 'link')];
    await mkdir(path, { mode: 0o700 });
    await symlink(path, link);
    const idle = ['-e', 'setInterval(() => 0, 1000)', '--'];
    const started = ['proxy', 'link', 'other'].map((name) => ['--config-path', join(top, name, 'bootstrap.json')]);
    const processes = [...started, [join(path, 'bootstrap.json')]].map((args) => spawn(process.execPath, [...idle, ...args]));
    onTestFinished(() => processes.forEach((child) => child.kill('SIGKILL')));
    await Promise.all(processes.map((child) => once(child, 'spawn')));
    await (await WorkFolder.open(link, context)).close();
    const [own, linked] = processes;
    await expect.poll(() => [own?.signalCode, linked?.signalCode]).toEqual(['SIGTERM', 'SIGTERM']);
    expect(processes.slice(2).map(({ exitCode, signalCode }) => exitCode ?? signalCode)).toEqual([null, null]);
  });

  it('keeps the last bootstrap where a new one cannot be written, and names the file', async () => {
    const folder = await WorkFolder.open(top, context);
    await folder.writeBootstrap({ node: { id: 'a' } });
    await mkdir(join(top, 'bootstrap.json.new', 'full'), { recursive: true });
    await expect(folder.writeBootstrap({ node: { id: 'b' } })).rejects.toThrow(/bootstrap\.json/);
    expect(JSON.parse(await readFile(folder.configFile, 'utf8'))).toEqual({ node: { id: 'a' } });
    await folder.close();
  });

  it('is for one of two launchers that take over at the same time', async () => {
    for (let round = 0; round < 20; round += 1) {
      await writeFile(join(top, 'run.sock'), '');
      const opened = await Promise.allSettled([WorkFolder.open(top, context), WorkFolder.open(top, context)]);
      const folders = opened.filter(({ status }) => status === 'fulfilled');
      expect(folders).toHaveLength(1);
      for (const one of opened) if (one.status === 'fulfilled') await one.value.close();
      expect(await readdir(top).catch(() => [])).toEqual([]);
      await mkdir(top, { recursive: true, mode: 0o700 });
    }
  });

  it('is refused where others may write, and where its path is too long', async () => {
    await chmod(top, 0o777);
    await expect(WorkFolder.open(top, context)).rejects.toThrow(`other users may write to ${top}; run: chmod go-w`);
    await expect(WorkFolder.open(join(top, 'x'.repeat(100)), context)).rejects.toThrow('too long for the path of a socket');
    await writeFile(join(top, 'file'), '');
    await expect(WorkFolder.open(join(top, 'file/a'), context)).rejects.toThrow('--work-dir: cannot use');
  });

  it('is refused if it belongs to another user', async () => {
    const me = process.getuid?.() ?? 0;
    const asked = vi.spyOn(process, 'getuid').mockReturnValue(me + 1);
    onTestFinished(() => asked.mockRestore());
    const refusal = `--work-dir: ${top} belongs to another user (uid ${String(me)}); name a folder of this user`;
    await expect(WorkFolder.open(top, context)).rejects.toThrow(refusal);
    expect(await readdir(top)).toEqual([]);
  });

  it('is refused if its path is a link of another user', async () => {
    const [target, path] = [join(top, 'target'), join(top, 'link')];
    await mkdir(target, { mode: 0o700 });
    await symlink(target, path);
    for (let round = 0; round < 2; round += 1) await (await WorkFolder.open(path, context)).close();
    // Only root can give a link to another user.
    if (process.getuid?.() !== 0) return;
    await lchown(path, 12_345, 12_345);
    await expect(WorkFolder.open(path, context)).rejects.toThrow('belongs to another user (uid 12345)');
  });
});
