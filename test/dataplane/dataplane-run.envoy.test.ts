// `meridian dataplane run` with a real Envoy, and a control plane of the test.
import { Agent, createServer, request, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { envoysOf } from '../../src/dataplane/left-envoys.ts';
import { freePort } from '../support/free-port.ts';
import { answering, FakeControlPlane } from './fake-control-plane.ts';
import { Launched, TOKEN } from './launched.ts';

const SMALL = ['--concurrency', '1'];

describe('dataplane run with a real Envoy', () => {
  it('is ready with its listeners, and drains without refusing a request', async () => {
    const plane = await FakeControlPlane.start();
    const port = await freePort();
    plane.listeners = [answering(port)];
    const run = await Launched.start([plane], { envoy: inject('envoy'), args: [...SMALL, '--drain-time', '6s'] });
    await expect.poll(() => run.ready()).toBe('200 LIVE');
    expect(plane.streams).toEqual([TOKEN]);
    // Envoy has nothing to say against its bootstrap.
    expect(run.lines.filter((line) => line.includes('"level":40'))).toEqual([]);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    expect(await get(port, agent)).toEqual({ status: 200, body: 'hello', closes: false });
    run.signal('SIGTERM');
    await expect.poll(() => run.ready()).toBe('503 DRAINING');
    await expect.poll(() => run.log).toContain('draining');
    // The connection that is open is closed with an answer, and a new one is taken.
    expect(await get(port, agent)).toEqual({ status: 200, body: 'hello', closes: true });
    expect(await get(port, agent)).toEqual({ status: 200, body: 'hello', closes: true });
    expect(await run.code()).toBe(0);
    await expect.poll(() => plane.open).toBe(0);
  });

  it('has what Envoy logs to its outputs, whose ends are sockets here', async () => {
    const plane = await FakeControlPlane.start();
    const port = await freePort();
    plane.listeners = [answering(port, ['/dev/stdout', '/dev/stderr'])];
    const run = await Launched.start([plane], { envoy: inject('envoy'), args: SMALL });
    await expect.poll(() => run.ready()).toBe('200 LIVE');
    expect(await get(port)).toMatchObject({ status: 200 });
    await expect.poll(() => run.lines).toContain('to /dev/stdout: 200');
    await expect.poll(() => run.log).toContain('"msg":"to /dev/stderr: 200"');
  });

  it('shows the token that is in its file now on the next stream, without a new start', async () => {
    const plane = await FakeControlPlane.start();
    const run = await Launched.start([plane], { envoy: inject('envoy'), args: SMALL });
    await expect.poll(() => run.ready()).toBe('200 LIVE');
    // The admin pages show a bootstrap, and no secret.
    expect(await run.file('work/bootstrap.json')).not.toContain(TOKEN);
    const file = join(run.folder, 'token');
    await writeFile(file, 'no token');
    await expect.poll(() => run.log).toContain('Envoy keeps its present token');
    await writeFile(`${file}.new`, 'dddd.eeee.ffff');
    await rename(`${file}.new`, file);
    await expect.poll(() => run.log).toContain('there is a new token');
    // Envoy reads the file in its own time: until then it shows the last one.
    await expect.poll(() => (plane.endStreams(), plane.streams.at(-1))).toBe('dddd.eeee.ffff');
    expect(plane.streams[0]).toBe(TOKEN);
    expect(plane.asked).toHaveLength(1);
    expect(await run.ready()).toBe('200 LIVE');
  });

  it('takes no request that changes the Envoy on the ports for readiness and for admin pages', async () => {
    const plane = await FakeControlPlane.start();
    const port = await freePort();
    const run = await Launched.start([plane], { envoy: inject('envoy'), args: [...SMALL, '--admin-port', String(port)] });
    await expect.poll(() => run.ready()).toBe('200 LIVE');
    const statusOf = async (at: number, method: string, path: string): Promise<number | undefined> => {
      const asking = request({ host: '127.0.0.1', port: at, method, path, agent: false });
      asking.end();
      const [answer] = (await once(asking, 'response')) as [IncomingMessage];
      answer.resume();
      return answer.statusCode;
    };
    expect(await statusOf(port, 'GET', '/server_info')).toBe(200);
    for (const path of ['/quitquitquit', '/stats/../quitquitquit', '/stats/%2e%2e/quitquitquit', '/logging?level=debug']) {
      for (const method of ['GET', 'POST']) expect(await statusOf(port, method, path)).toBe(405);
      // Envoy may break off its refusal of a HEAD.
      await statusOf(port, 'HEAD', path).catch(() => undefined);
    }
    for (const path of ['/ready/../server_info', '/ready/%2e%2e/server_info', '/server_info'])
      for (const method of ['GET', 'POST']) expect(await statusOf(run.readinessPort, method, path)).toBe(404);
    expect(await run.ready()).toBe('200 LIVE');
    expect(plane.streams).toHaveLength(1);
  });

  it('comes back after the Envoy was killed', async () => {
    const plane = await FakeControlPlane.start();
    const port = await freePort();
    plane.listeners = [answering(port)];
    const run = await Launched.start([plane], { envoy: inject('envoy'), args: SMALL });
    await expect.poll(() => run.ready()).toBe('200 LIVE');
    const [envoy = 0] = await envoysOf(new Set([join(run.workDir, 'bootstrap.json')]));
    process.kill(envoy, 'SIGKILL');
    await expect.poll(() => plane.streams.length).toBe(2);
    await expect.poll(() => run.ready()).toBe('200 LIVE');
    expect(await get(port)).toMatchObject({ status: 200 });
  });

  it('goes to another control plane when one is gone', async () => {
    // A client looks for the certificate of a CA by its subject, which is the first name.
    const [one, two] = [
      ['one.example', '127.0.0.1'],
      ['two.example', '127.0.0.1'],
    ];
    const planes = [await FakeControlPlane.start({ hosts: one }), await FakeControlPlane.start({ hosts: two })];
    const run = await Launched.start(planes, { envoy: inject('envoy'), args: SMALL });
    await expect.poll(() => run.ready()).toBe('200 LIVE');
    const first = planes.find(({ open }) => open === 1);
    const second = planes.find((plane) => plane !== first);
    first?.stop();
    await expect.poll(() => second?.open).toBe(1);
    expect(second?.streams).toEqual([TOKEN]);
    expect(await run.ready()).toBe('200 LIVE');
  });

  it('is not ready while a listener has no port', async () => {
    const plane = await FakeControlPlane.start();
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    onTestFinished(() => void taken.close());
    const address = taken.address();
    plane.listeners = [answering(typeof address === 'object' ? (address?.port ?? 0) : 0)];
    const run = await Launched.start([plane], { envoy: inject('envoy'), args: SMALL });
    await expect.poll(() => run.ready()).toBe('503 Envoy has not taken any listeners');
    await expect.poll(() => run.log).toMatch(/"level":40,.*"envoy":"config","msg":"delta config .*Address already in use/);
  });

  it('shows the whole error of a bootstrap that Envoy refuses', async () => {
    const plane = await FakeControlPlane.start();
    const bootstrap = { node: { id: 'a' }, admin: { address: { pipe: { path: '/tmp/none/admin.sock' } } }, nonsense: 1 };
    const body = JSON.stringify({ bootstrap: Buffer.from(JSON.stringify(bootstrap)).toString('base64') });
    plane.answer = () => ({ status: 200, body });
    const run = await Launched.start([plane], { envoy: inject('envoy'), args: SMALL });
    expect(await run.code()).toBe(1);
    expect(run.log).toMatch(/Envoy ended with exit code 1 before it answered: .*nonsense/);
  });
});

async function get(port: number, agent?: Agent): Promise<{ status: number; body: string; closes: boolean }> {
  const calling = request({ host: '127.0.0.1', port, path: '/', ...(agent !== undefined && { agent }) });
  calling.end();
  const [answer] = (await once(calling, 'response')) as [IncomingMessage];
  return { status: answer.statusCode ?? 0, body: await text(answer), closes: answer.headers.connection === 'close' };
}
