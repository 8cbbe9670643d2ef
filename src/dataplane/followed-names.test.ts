// The names of a launcher: streams of names that end and begin again, the listeners of its Envoy, and the file.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { aborted } from '../base/supervise.ts';
import { parseControlPlaneAddress } from './control-plane-address.ts';
import { FollowedNames } from './followed-names.ts';
import type { NameRecord } from './name-records.ts';
import type { NameStreamEnd, NameStreamOptions } from './name-stream.ts';

/** A stream as the test plays it. */
type Played = NameStreamOptions & { readonly end: (end?: Partial<NameStreamEnd>) => void };

function launcher(file = join(temporaryFolder(), 'names.json')) {
  const clock = new ManualClock();
  const streams: Played[] = [];
  const logged: string[] = [];
  const envoy = { places: new Set<string>(), looks: 0, isThere: true };
  const names = new FollowedNames({
    controlPlanes: ['https://10.0.0.1:5678', 'https://10.0.0.2:5678'].map(parseControlPlaneAddress),
    ...{ caCert: '', mesh: 'shop', name: 'cart-1', token: async () => 'a.b.c' },
    admin: () => (envoy.isThere ? { listeners: async () => ((envoy.looks += 1), new Set(envoy.places)) } : null),
    ...{ file, clock },
    log: pino({ level: 'info' }, { write: (line: string) => void logged.push(line) }),
    followStream: async (options) => {
      const ended = Promise.withResolvers<NameStreamEnd>();
      const end: Played['end'] = (more) => ended.resolve({ reason: 'gone', isServed: true, isUnknown: false, ...more });
      streams.push({ ...options, end });
      void aborted(options.signal).then(() => end());
      return await ended.promise;
    },
  });
  const over = new AbortController();
  let ended: Promise<void> | null = null;
  const stop = async (): Promise<void> => {
    over.abort();
    await ended;
  };
  const start = async (): Promise<Played> => {
    await names.open();
    ended = names.follow(over.signal);
    onTestFinished(stop);
    return await stream(1);
  };
  const stream = async (count: number): Promise<Played> => {
    await expect.poll(() => streams.length).toBe(count);
    return streams[count - 1] as Played;
  };
  return { names, clock, streams, logged, envoy, file, start, stop, stream };
}

const CATALOG: NameRecord = { version: '1', addresses: ['241.0.0.1'], places: ['241.0.0.1:80'] };

describe('the names of a launcher', () => {
  it('are answered when its Envoy listens, and it is asked only while a name waits', async () => {
    const { names, clock, envoy, start } = launcher();
    const { take } = await start();
    expect(names.isKnown).toBe(false);
    take([['catalog.svc.mesh.local', CATALOG]], []);
    expect(names.isKnown).toBe(true);
    await expect.poll(() => envoy.looks).toBe(1);
    await clock.advance(1_000);
    const looks = envoy.looks;
    expect([names.lookup('catalog.svc.mesh.local'), looks < 12]).toEqual([undefined, true]);
    envoy.places.add('241.0.0.1:80');
    await clock.advance(5_000);
    expect(names.lookup('catalog.svc.mesh.local')).toEqual(['241.0.0.1']);
    const last = envoy.looks;
    await clock.advance(60_000);
    expect(envoy.looks).toBe(last);
  });

  it('are looked at soon again when another one comes', async () => {
    const { names, clock, envoy, start } = launcher();
    const { take } = await start();
    take([['never.svc.mesh.local', CATALOG]], []);
    await clock.advance(60_000);
    take([['cart.svc.mesh.local', { version: '2', addresses: ['241.0.0.2'], places: ['241.0.0.2:80'] }]], []);
    envoy.places.add('241.0.0.2:80');
    await clock.advance(20);
    expect(names.lookup('cart.svc.mesh.local')).toEqual(['241.0.0.2']);
  });

  it('wait for an Envoy that does not run yet', async () => {
    const { names, clock, envoy, start } = launcher();
    envoy.isThere = false;
    const { take } = await start();
    take([['catalog.svc.mesh.local', CATALOG]], []);
    envoy.places.add('241.0.0.1:80');
    await clock.advance(1_000);
    expect([envoy.looks, names.lookup('catalog.svc.mesh.local')]).toEqual([0, undefined]);
    envoy.isThere = true;
    await clock.advance(5_000);
    expect(names.lookup('catalog.svc.mesh.local')).toEqual(['241.0.0.1']);
  });

  it('stay while no control plane is there, and the next one sends what differs', async () => {
    const { names, clock, envoy, start, stream, streams, logged } = launcher();
    const first = await start();
    envoy.places.add('241.0.0.1:80');
    first.take([['catalog.svc.mesh.local', CATALOG]], []);
    await expect.poll(() => names.size).toBe(1);
    first.end();
    await expect.poll(() => clock.sleepers).toBeGreaterThan(0);
    await clock.advance(100);
    const second = await stream(2);
    expect([second.controlPlane.host, second.held]).toEqual(['10.0.0.2', new Map([['catalog.svc.mesh.local', '1']])]);
    second.end({ isServed: false });
    await clock.advance(60_000);
    expect(names.lookup('catalog.svc.mesh.local')).toEqual(['241.0.0.1']);
    expect(streams.length).toBeGreaterThan(2);
    expect(logged.join('')).toContain('the last ones are answered');
  });

  it('come with growing pauses from a zone that stays away', async () => {
    const { clock, start, streams } = launcher();
    (await start()).end({ isServed: false });
    for (let passed = 0; passed < 300_000; passed += 100) {
      await clock.advance(100);
      streams.at(-1)?.end({ isServed: false });
    }
    expect(streams.length).toBeLessThan(70);
    expect(streams.length).toBeGreaterThan(20);
  });

  it('say what to do about a control plane that has none', async () => {
    const { start, logged } = launcher();
    (await start()).end({ isServed: false, isUnknown: true, reason: 'unknown method' });
    await expect.poll(() => logged.join('')).toContain('this control plane sends no names; update it');
  });

  it('are answered by the next launcher before it has asked anybody', async () => {
    const one = launcher();
    one.envoy.places.add('241.0.0.1:80');
    (await one.start()).take([['catalog.svc.mesh.local', CATALOG]], []);
    await expect.poll(() => one.names.size).toBe(1);
    await one.stop();
    const next = launcher(one.file);
    const { held } = await next.start();
    expect(next.names.lookup('catalog.svc.mesh.local')).toEqual(['241.0.0.1']);
    expect([held, next.names.isKnown]).toEqual([new Map([['catalog.svc.mesh.local', '1']]), true]);
  });

  it('are in the file soon after a change', async () => {
    const { clock, start, file } = launcher();
    (await start()).take([['catalog.svc.mesh.local', CATALOG]], []);
    await clock.advance(500);
    await expect.poll(async () => await readFile(file, 'utf8').catch(() => '')).toContain('catalog.svc.mesh.local');
  });

  it('come from the zone where the file is damaged', async () => {
    const file = join(temporaryFolder(), 'names.json');
    await writeFile(file, '{');
    const { names, start, logged } = launcher(file);
    const { held } = await start();
    expect([names.size, held.size]).toEqual([0, 0]);
    expect(logged.join('')).toContain('the names of the last run cannot be read');
  });
});
