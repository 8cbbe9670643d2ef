// `meridian dataplane run` with a fake Envoy: real processes, sockets and signals.
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { existsSync } from 'node:fs';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createSelfSigned } from '../../src/base/self-signed.ts';
import { freePort } from '../support/free-port.ts';
import { FakeControlPlane } from './fake-control-plane.ts';
import { DATAPLANE, fakeEnvoy, Launched, TOKEN } from './launched.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

describe('dataplane run', () => {
  it('asks for a bootstrap, starts Envoy with it and answers /ready', async () => {
    const plane = await FakeControlPlane.start();
    const { envoy, env, log } = await fakeEnvoy();
    const more = ['--concurrency', '2', '--envoy-log-level', 'info', '--drain-time', '3s'];
    const run = await Launched.start([plane], { envoy, env, args: more });
    await expect.poll(() => run.ready()).toBe('200 LIVE');
    const [request] = plane.asked;
    expect(request).toMatchObject({
      mesh: 'shop',
      name: 'cart-1',
      dataplaneToken: TOKEN,
      workdir: run.workDir,
      proxyType: 'dataplane',
    });
    expect(request).toMatchObject({
      version: { envoy: { version: '1.40.0' } },
      readinessPort: run.readinessPort,
      caCert: plane.ca,
    });
    expect(JSON.parse(String(request?.['dataplaneResource']))).toMatchObject({
      type: 'Dataplane',
      networking: { inbound: [{ port: 8080, name: 'http' }] },
    });
    const bootstrap = join(run.workDir, 'bootstrap.json');
    const [start] = (await log()).split('\n');
    expect(start).toMatch(`--config-path ${bootstrap} --disable-hot-restart --drain-time-s 3 --drain-strategy immediate`);
    expect(start).toContain('--log-level info');
    expect(start).toMatch(/--concurrency 2$/);
    expect((await stat(bootstrap)).mode & 0o777).toBe(0o600);
    expect((await stat(run.workDir)).mode & 0o777).toBe(0o700);
    // Envoy's environment holds nothing of ours, and its log is in ours.
    expect(await log()).toContain('environment \n');
    expect(run.log).toMatch(/"level":40,.*"envoy":"config","msg":"something is odd"/);
    const other = await fetch(`http://127.0.0.1:${String(run.readinessPort)}/quitquitquit`, { method: 'POST' });
    expect(other.status).toBe(404);
  });

  it('drains on a signal, then ends Envoy and leaves nothing', async () => {
    const plane = await FakeControlPlane.start();
    const { envoy, env, log } = await fakeEnvoy();
    const run = await Launched.start([plane], { envoy, env, args: ['--drain-time', '500ms'] });
    await expect.poll(() => run.ready()).toBe('200 LIVE');
    // A terminal sends Ctrl-C to every process of the group.
    run.signalGroup('SIGINT');
    expect(await run.code()).toBe(0);
    const [, drained = ''] = (await log()).split('POST /healthcheck/fail\n');
    expect(drained).toBe('POST /drain_listeners?graceful&skip_exit\nSIGTERM\n');
    expect(await readdir(run.folder)).not.toContain('work');
  });

  it('sees the end of Envoy also after the reader of its access logs has gone', async () => {
    const plane = await FakeControlPlane.start();
    const { envoy, env } = await fakeEnvoy('chatty');
    const run = await Launched.start([plane], { envoy, env });
    await expect.poll(() => run.ready()).toBe('200 LIVE');
    await expect.poll(() => run.log).toContain('GET /');
    run.closeStdout();
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(await run.ready()).toBe('200 LIVE');
    run.signal('SIGTERM');
    expect(await run.code()).toBe(0);
    expect(await readdir(run.folder)).not.toContain('work');
  });

  it.each([
    ['of a file', DATAPLANE, []],
    ['that was applied', null, ['--mesh', 'shop', '--name', 'cart-1']],
  ])('says that the proxy of a Dataplane %s drains, and that it has ended', async (_, document, named) => {
    const plane = await FakeControlPlane.start();
    const { envoy, env } = await fakeEnvoy();
    const args = [...named, '--drain-time', '500ms'];
    const run = await Launched.start([plane], { envoy, env, document, args });
    await expect.poll(() => run.ready()).toBe('200 LIVE');
    run.signal('SIGTERM');
    expect(await run.code()).toBe(0);
    const about = { mesh: 'shop', name: 'cart-1', run: 'run-1', dataplaneToken: TOKEN };
    expect(plane.left).toEqual([
      { ...about, state: 'draining' },
      { ...about, state: 'ended' },
    ]);
  });

  it('says that the proxy has ended when it is stopped between two Envoys', async () => {
    const plane = await FakeControlPlane.start();
    // The second question has no answer.
    plane.answer = () => (plane.asked.length === 1 ? null : new Promise(() => undefined));
    const { envoy, env, log } = await fakeEnvoy('crash');
    const run = await Launched.start([plane], { envoy, env });
    await expect.poll(() => plane.asked.length).toBe(2);
    run.signal('SIGTERM');
    expect(await run.code()).toBe(0);
    expect(plane.left).toMatchObject([{ run: 'run-1', state: 'ended' }]);
    expect((await log()).match(/^start /gm)).toHaveLength(1);
  });

  it('stops at once on a second signal, and leaves no file', async () => {
    const plane = await FakeControlPlane.start();
    const { envoy, env, log } = await fakeEnvoy('stubborn');
    const run = await Launched.start([plane], { envoy, env, args: ['--drain-time', '1h'] });
    await expect.poll(() => run.ready()).toBe('200 LIVE');
    run.signal('SIGINT');
    await expect.poll(() => run.ready()).toBe('503 DRAINING');
    await expect.poll(() => run.log).toContain('a second signal stops at once');
    run.signal('SIGINT');
    expect(await run.code()).toBe(1);
    const pid = Number(/^start (\d+)/.exec(await log())?.[1]);
    await expect.poll(() => isAlive(pid)).toBe(false);
    expect(existsSync(run.workDir)).toBe(false);
  });

  it('starts an Envoy again that died, with a token that was changed meanwhile', async () => {
    const plane = await FakeControlPlane.start();
    const { envoy, env, log } = await fakeEnvoy();
    const run = await Launched.start([plane], { envoy, env });
    await expect.poll(() => run.ready()).toBe('200 LIVE');
    await writeFile(join(run.folder, 'token'), 'new.new.new');
    process.kill(Number(/^start (\d+)/.exec(await log())?.[1]), 'SIGKILL');
    await expect.poll(async () => (await log()).match(/^token .*$/gm)?.[1]).toContain('new.new.new');
    await expect.poll(() => run.ready()).toBe('200 LIVE');
    expect(run.log).toMatch(/"end":"signal SIGKILL",.*Envoy ended; starting it again/);
  });

  it('asks for the bootstrap with the token that is in its file now', async () => {
    const plane = await FakeControlPlane.start();
    plane.answer = () => ({ status: 401, body: 'the token has expired' });
    const { envoy, env, log } = await fakeEnvoy();
    const run = await Launched.start([plane], { envoy, env });
    await expect.poll(() => run.log).toContain('answers 401: the token has expired; trying again');
    await writeFile(join(run.folder, 'token'), 'half');
    await expect.poll(() => run.log).toContain('is no token');
    await writeFile(join(run.folder, 'token'), 'new.new.new');
    await expect.poll(() => plane.asked.at(-1)?.['dataplaneToken']).toBe('new.new.new');
    plane.answer = null;
    await expect.poll(() => run.ready()).toBe('200 LIVE');
    expect(await log()).toMatch(/^token .*new\.new\.new/m);
  });

  it('starts an Envoy again that died while no control plane answers', async () => {
    const plane = await FakeControlPlane.start();
    const { envoy, env, log } = await fakeEnvoy('crash');
    plane.answer = (): { status: number; body: string } => ({ status: 503, body: 'not now' });
    const run = await Launched.start([plane], { envoy, env });
    await expect.poll(() => run.log).toContain('answers 503: not now; trying again until one answers');
    plane.answer = null;
    await expect.poll(() => run.ready()).toBe('200 LIVE');
    await expect.poll(async () => (await log()).match(/^start /gm)?.length).toBe(2);
    expect(run.log).toContain('exit code 134');
  });

  it('ends when the first Envoy refuses its configuration, with its reason', async () => {
    const plane = await FakeControlPlane.start();
    const run = await Launched.start([plane], await fakeEnvoy('fail'));
    expect(await run.code()).toBe(1);
    expect(run.log).toContain('meridian: Envoy ended with exit code 1 before it answered: error initializing configuration');
  });

  it('starts a proxy whose name is too long for the pipe of access logs, without this feature', async () => {
    const plane = await FakeControlPlane.start();
    const { envoy, env } = await fakeEnvoy();
    const document = DATAPLANE.replace('cart-1', 'x'.repeat(240));
    const run = await Launched.start([plane], { envoy, env, document });
    await expect.poll(() => run.ready()).toBe('200 LIVE');
    expect(plane.asked[0]?.['features']).not.toContain('feature-tcp-accesslog-via-named-pipe');
    run.signal('SIGTERM');
    expect(await run.code()).toBe(0);
  });

  it('is not ready before Envoy is', async () => {
    const plane = await FakeControlPlane.start();
    const run = await Launched.start([plane], await fakeEnvoy('unready'));
    await expect.poll(() => run.ready()).toBe('503 Envoy is INITIALIZING: it waits for its configuration');
  });

  it('waits for a control plane, and takes the one of several that answers', async () => {
    const port = await freePort();
    const [second, { envoy, env }] = [await FakeControlPlane.start(), await fakeEnvoy()];
    second.answer = (): { status: number; body: string } => ({ status: 503, body: '' });
    const run = await Launched.start([second], { envoy, env, args: ['--cp-address', `https://127.0.0.1:${String(port)}`] });
    await expect
      .poll(() => run.log)
      .toContain(`cannot reach a control plane at https://127.0.0.1:${String(port)} (ECONNREFUSED)`);
    await expect.poll(() => second.asked.length).toBeGreaterThan(2);
    expect(run.lines.filter((line) => line.includes('trying again'))).toHaveLength(1);
    second.answer = null;
    await expect.poll(() => run.ready()).toBe('200 LIVE');
    const bootstrap = JSON.parse(await readFile(join(run.workDir, 'bootstrap.json'), 'utf8')) as unknown;
    expect(JSON.stringify(bootstrap)).toContain(`{"address":"127.0.0.1","portValue":${String(port)}}`);
  });

  it('shows pages of the admin interface to read, under local names alone', async () => {
    const plane = await FakeControlPlane.start();
    const port = await freePort();
    const run = await Launched.start([plane], { ...(await fakeEnvoy()), args: ['--admin-port', String(port)] });
    await expect.poll(() => run.ready()).toBe('200 LIVE');
    const url = `http://127.0.0.1:${String(port)}`;
    expect(await (await fetch(`${url}/clusters?format=json`)).text()).toBe('page /clusters?format=json\n');
    expect((await fetch(`${url}/quitquitquit`, { method: 'POST' })).status).toBe(405);
    // A web site whose name leads to this machine.
    const foreign = get({ host: '127.0.0.1', port, path: '/certs', headers: { host: 'site.example' } });
    const [answer] = (await once(foreign, 'response')) as [IncomingMessage];
    expect(answer.statusCode).toBe(403);
    answer.resume();
  });

  it('keeps two launchers apart', async () => {
    const plane = await FakeControlPlane.start();
    const { envoy, env } = await fakeEnvoy();
    const first = await Launched.start([plane], { envoy, env });
    await expect.poll(() => first.ready()).toBe('200 LIVE');
    const same = await Launched.start([plane], { envoy, env, args: ['--work-dir', first.workDir] });
    expect(await same.code()).toBe(1);
    expect(same.log).toContain(`another \`meridian dataplane run\` uses ${first.workDir}`);
    const port = await Launched.start([plane], { envoy, env, args: ['--readiness-port', String(first.readinessPort)] });
    expect(await port.code()).toBe(1);
    expect(port.log).toContain(`--readiness-port: port ${String(first.readinessPort)} is in use`);
    expect(await first.ready()).toBe('200 LIVE');
  });

  it('ends the Envoy that a killed launcher left', async () => {
    const plane = await FakeControlPlane.start();
    const { envoy, env, log } = await fakeEnvoy();
    const first = await Launched.start([plane], { envoy, env });
    await expect.poll(() => first.ready()).toBe('200 LIVE');
    const pid = Number(/^start (\d+)/.exec(await log())?.[1]);
    await first.kill();
    expect(isAlive(pid)).toBe(true);
    const second = await Launched.start([plane], { envoy, env, args: ['--work-dir', first.workDir] });
    await expect.poll(() => second.ready()).toBe('200 LIVE');
    expect(isAlive(pid)).toBe(false);
    expect(second.log).toContain('an earlier run was killed and left its Envoy');
  });
});

describe('dataplane run, called wrongly', () => {
  it('starts no Envoy with a bootstrap that has no admin interface', async () => {
    const plane = await FakeControlPlane.start();
    const bootstrap = Buffer.from(JSON.stringify({ node: { id: 'a' } })).toString('base64');
    plane.answer = () => ({ status: 200, body: JSON.stringify({ bootstrap }) });
    const { envoy, env, log } = await fakeEnvoy();
    const run = await Launched.start([plane], { envoy, env });
    expect(await run.code()).toBe(1);
    expect(run.lines.at(-1)).toMatch(/^meridian: the bootstrap of the control plane has no admin interface/);
    expect(await log()).toBe('');
  });

  it('says in one sentence that its token file cannot be used, and leaves nothing', async () => {
    const plane = await FakeControlPlane.start();
    const { envoy, env } = await fakeEnvoy();
    const me = import.meta.filename;
    for (const [file, fault] of [
      ['/none', '/none cannot be read (ENOENT)'],
      [me, `${me} is no token; \`meridian generate dataplane-token\` prints one`],
    ] as const) {
      const run = await Launched.start([plane], { envoy, env, args: ['--dataplane-token-file', file] });
      expect(await run.code()).toBe(1);
      const [last, ...before] = run.lines.toReversed();
      expect(last).toBe(`meridian: --dataplane-token-file: ${fault}`);
      expect(before.filter((line) => !line.startsWith('{'))).toEqual([]);
      expect(await readdir(run.folder)).not.toContain('work');
    }
    expect(plane.asked).toEqual([]);
  });

  it('refuses files that hold no certificate, and answers that a person must look at', async () => {
    const plane = await FakeControlPlane.start();
    const { envoy, env } = await fakeEnvoy();
    const outcome = async (...args: string[]): Promise<string> => {
      const run = await Launched.start([plane], { envoy, env, args });
      return `${String(await run.code())} ${run.log}`;
    };
    expect(await outcome('--ca-cert-file', '/none')).toMatch(/^1 [^]*--ca-cert-file: \/none cannot be read \(ENOENT\)/);
    plane.answer = () => ({ status: 422, body: 'networking.address: must be given' });
    expect(await outcome()).toMatch(/^1 [^]*answers 422: networking\.address: must be given/);
    const { certPem } = await createSelfSigned('server', ['other.example'], new Date());
    const other = join(temporaryFolder(), 'other.pem');
    await writeFile(other, certPem);
    expect(await outcome('--ca-cert-file', other)).toMatch(/^1 [^]*does not trust the certificate of .*--ca-cert-file FILE/);
  });
});

/** A process that has ended is dead, also while its parent has not read its exit code. */
function isAlive(pid: number): boolean {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' });
  return !/^(Z|\s*$)/.test(stdout.trim());
}
