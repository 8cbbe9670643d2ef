// The question for a bootstrap, over real TLS.
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock, type Clock } from '../../src/base/clock.ts';
import { MeridianError } from '../../src/base/errors.ts';
import { createLogger } from '../../src/base/log.ts';
import { askBootstrap, askOnce, type BootstrapQuestion } from '../../src/dataplane/ask-bootstrap.ts';
import { parseControlPlaneAddress } from '../../src/dataplane/control-plane-address.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { FakeControlPlane } from './fake-control-plane.ts';

const log = createLogger('silent');
const REQUEST = { mesh: 'shop', name: 'cart-1', workdir: '/tmp/none' };

function question(plane: FakeControlPlane, url = plane.url): BootstrapQuestion {
  return { addresses: [parseControlPlaneAddress(url)], ca: plane.ca, body: REQUEST };
}

/** A clock on which each sleep is over at once, and lasts for 5 s. */
function leapingClock(): { clock: Clock; elapsed: () => number } {
  let now = 0;
  const sleep = async (): Promise<void> => void (now += 5_000);
  const elapsed = (): number => now;
  return { clock: { ...systemClock, elapsed, sleep }, elapsed };
}

describe('asking for a bootstrap', () => {
  it('waits half a minute for a Dataplane that does not exist, and then says that it is not found', async () => {
    const plane = await FakeControlPlane.start();
    plane.answer = () => ({ status: 404, body: '' });
    const { clock } = leapingClock();
    const asking = askBootstrap(async () => question(plane), { clock, log, signal: new AbortController().signal });
    await expect(asking).rejects.toMatchObject({
      code: 'not_found',
      message: `${plane.url} does not know this Dataplane: neither it nor its mesh exists there; apply it first, or give --dataplane-file`,
    });
    expect(plane.asked.length).toBeGreaterThan(6);
  });

  it.each([
    [401, 'before it', (ms: number) => ms < 60_000],
    [404, 'before it', (ms: number) => ms < 60_000],
    [404, 'in between', (ms: number) => ms > 10_000 && ms < 60_000],
  ])('repeats a %d for half a minute, and does not count an outage %s', async (status, _, isOut) => {
    const plane = await FakeControlPlane.start();
    const { clock, elapsed } = leapingClock();
    let unknown = 0;
    plane.answer = () => {
      if (isOut(elapsed())) return { status: 503, body: '' };
      unknown += 1;
      return { status, body: '' };
    };
    const asking = askBootstrap(async () => question(plane), { clock, log, signal: new AbortController().signal });
    await expect(asking).rejects.toMatchObject({ code: 'not_found' });
    expect(unknown).toBeGreaterThan(6);
  });

  it('ends for a Dataplane that stays unknown to a control plane which fails at every other question', async () => {
    const plane = await FakeControlPlane.start();
    plane.answer = () => ({ status: plane.asked.length % 2 === 0 ? 404 : 503, body: '' });
    const { clock } = leapingClock();
    const asking = askBootstrap(async () => question(plane), { clock, log, signal: new AbortController().signal });
    await expect(asking).rejects.toMatchObject({ code: 'not_found' });
  });

  it('makes the question of each attempt, and tries again when one cannot be made', async () => {
    const plane = await FakeControlPlane.start();
    plane.answer = ({ dataplaneToken }) => ({ status: dataplaneToken === 'new' ? 422 : 401, body: '' });
    const tokens = ['old', 'half', 'new'];
    const next = async (): Promise<BootstrapQuestion> => {
      const dataplaneToken = tokens.shift() ?? '';
      if (dataplaneToken === 'half') throw new MeridianError('config', 'the file is no token');
      return { ...question(plane), body: { ...REQUEST, dataplaneToken } };
    };
    const { clock } = leapingClock();
    const asking = askBootstrap(next, { clock, log, signal: new AbortController().signal });
    await expect(asking).rejects.toThrow('answers 422');
    expect(plane.asked.map(({ dataplaneToken }) => dataplaneToken)).toEqual(['old', 'new']);
  });

  it('ends with the error of a first question that cannot be made', async () => {
    const wrong = new MeridianError('config', 'the file is no token');
    const asking = askBootstrap(() => Promise.reject(wrong), { clock: systemClock, log, signal: new AbortController().signal });
    await expect(asking).rejects.toBe(wrong);
  });

  it('ends with its signal', async () => {
    const plane = await FakeControlPlane.start();
    plane.answer = () => ({ status: 503, body: '' });
    const stop = new AbortController();
    const asking = askBootstrap(async () => question(plane), { clock: systemClock, log, signal: stop.signal });
    await expect.poll(() => plane.asked.length).toBeGreaterThan(0);
    stop.abort();
    expect(await asking).toBeNull();
  });

  it.each([
    [400, 'the host is not in the certificate', 'refused', 'answers 400: the host is not in the certificate'],
    [
      422,
      '{"title":"Invalid","detail":"networking.address: must be given"}',
      'refused',
      'answers 422: networking.address: must be given',
    ],
    [429, '', 'unreachable', 'answers 429'],
    [500, '', 'unreachable', 'answers 500'],
    [404, 'mesh shop does not exist', 'unknown', 'does not know this Dataplane: mesh shop does not exist'],
    [200, '{}', 'refused', 'holds no configuration of Envoy'],
    [200, 'x'.repeat(5 * 1024 * 1024), 'refused', 'larger than 4 MiB'],
  ])('takes an answer with status %d, case %#', async (status, body, kind, reason) => {
    const plane = await FakeControlPlane.start();
    plane.answer = () => ({ status, body });
    const answer = await askOnce(question(plane), { clock: systemClock, signal: new AbortController().signal });
    expect(answer).toMatchObject({ kind, reason: expect.stringContaining(reason) as string });
  });

  it('tells a certificate for other names from one that is not trusted', async () => {
    const plane = await FakeControlPlane.start({ hosts: ['other.example'] });
    const context = { clock: systemClock, signal: new AbortController().signal };
    const named = await askOnce(question(plane), context);
    expect(named).toMatchObject({ kind: 'refused', reason: expect.stringContaining('is for other names') as string });
    const trusted = await askOnce({ ...question(plane), ca: '' }, context);
    expect(trusted).toMatchObject({ kind: 'refused', reason: expect.stringContaining('--ca-cert-file FILE') as string });
  });

  it('does not wait for a server that says nothing', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    onTestFinished(() => void silent.close());
    const plane = await FakeControlPlane.start();
    const clock = new ManualClock();
    const url = `https://127.0.0.1:${String((silent.address() as AddressInfo).port)}`;
    const asking = askOnce(question(plane, url), { clock, signal: new AbortController().signal });
    await once(silent, 'connection');
    await clock.advance(10_000);
    expect(await asking).toEqual({
      kind: 'unreachable',
      reason: `cannot reach a control plane at ${url} (no answer within 10 s)`,
    });
  });
});
