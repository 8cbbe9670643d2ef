// What a real Envoy says of resources that it refuses, and what a session makes of it.
import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, inject, it, onTestFinished } from 'vitest';
import { request, sessionOf } from '../../src/ads/session.fixture.ts';
import { answering, FakeControlPlane } from './fake-control-plane.ts';
import { Launched } from './launched.ts';

/** A port that Envoy cannot listen on. */
async function usedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

it('Envoy cuts a refusal of many listeners, and a session holds none of those that it does not name', async () => {
  const plane = await FakeControlPlane.start();
  const ports = await Promise.all(Array.from({ length: 40 }, usedPort));
  const nameOf = (at: number): string => `kri_msvc_shop_east__a-service-with-a-name-${String(at)}_http`;
  plane.listeners = ports.map((port, at) => ({ ...answering(port), name: nameOf(at) }));
  await Launched.start([plane], { envoy: inject('envoy'), args: ['--concurrency', '1'] });
  await expect.poll(() => plane.refusals).toHaveLength(1);
  const [error = ''] = plane.refusals;
  expect(error).toMatch(/^Error adding\/updating listener\(s\) kri_[^]*\.\.\.\(truncated\)$/);
  expect(error.length).toBe(4_110);
  const names = ports.map((_, at) => nameOf(at));
  const { session } = sessionOf({ Listener: Object.fromEntries(names.map((name) => [name, '1'])) });
  session.receive(request('Listener'));
  const [response] = session.take();
  session.receive(request('Listener', { nonce: response?.nonce ?? '', error }));
  expect(names.filter((name) => session.holds('Listener', name))).toEqual([]);
  const refused = session.refusals.map(({ name }) => name);
  expect(refused.length).toBeGreaterThan(30);
  const [again] = session.take();
  expect(again?.resources.map(({ name }) => name)).toEqual(names.filter((name) => !refused.includes(name)));
});
