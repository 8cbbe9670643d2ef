// A link is cut, silent or slow: writes made meanwhile arrive later, and other zones are not affected.
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { hashName } from '../../src/resource/hash-name.ts';
import { startFleet, WAIT, type ControlPlane, type Fleet } from '../support/control-plane.ts';
import { expectEqualStores, writesOf } from './compare-stores.ts';
import { hasMesh, putService, putTimeout, writeSteadily } from './steady-writes.ts';
import { TcpProxy } from './tcp-proxy.ts';
import type { MoreWrites } from './write-during.ts';

const CUTS = 20;
/** A moment of the writes: this many of them at most. */
const MAX_WRITES = 20;
/** Writes while the link is a hole. */
const WRITES_IN_HOLE = 300;
/** A lost connection is noticed by a ping after 20 s and 15 s more without its answer; then comes a new one, on a busy machine. */
const NOTICED = { ...WAIT, timeout: 20_000 + 15_000 + 60_000 };
const SLOW_BYTES_PER_SECOND = 10_000;
/** One change fills the slow link for about a second. */
const PAD = 'x'.repeat(10_000);
const CHANGES = 30;

describe('a link between a zone and global', () => {
  const started = new AsyncDisposableStack();
  let fleet: Fleet;
  let global: ControlPlane;
  let east: ControlPlane;
  let west: ControlPlane;
  let eastLink: TcpProxy;
  let westLink: TcpProxy;

  const isThere = (side: ControlPlane, type: string, name: string): Promise<boolean> =>
    side.rows(type).then((rows) => rows.has(name));

  /** Streams of zones that global holds for open. */
  async function openStreams(): Promise<number> {
    const response = await fetch(`http://127.0.0.1:${global.env['MERIDIAN_DIAGNOSTICS_SERVER_PORT'] ?? ''}/metrics`);
    const values = [...(await response.text()).matchAll(/^kds_delta_streams_active(?:\{.*\})? (\d+)$/gm)];
    return values.reduce((sum, [, value]) => sum + Number(value), 0);
  }

  /** Writes on both sides of the link, and removals, while `fault` runs; then all must be in step. */
  async function writeDuring(prefix: string, fault: (moreWrites: MoreWrites) => Promise<void>): Promise<void> {
    const policies = writeSteadily(`policy-${prefix}`, (name, n) => putTimeout(global, name, n));
    const services = writeSteadily(`service-${prefix}`, (name, n) => putService(east, name, n));
    const removals = writeSteadily(`removed-${prefix}`, async (name, n) => {
      const status = await putTimeout(global, name, n);
      await global.psql.query(`delete from resources where name = $1`, [`removed-${prefix}-${String(n - 5)}`]);
      return status;
    });
    const all = [policies, services, removals];
    try {
      const accepted = (): number => all.reduce((sum, writes) => sum + writes.accepted(), 0);
      await fault(async (count) => {
        const least = accepted() + count;
        await expect.poll(accepted, { ...WAIT, interval: 1 }).toBeGreaterThanOrEqual(least);
      });
    } finally {
      for (const writes of all) await writes.stop();
    }
    for (const member of [global, east, west]) member.assertRunning(prefix);
    for (const writes of all) expect((await writes.stop()).answers).toEqual(new Set([201]));
    await expectEqualStores(fleet);
  }

  beforeAll(async () => {
    eastLink = await TcpProxy.start();
    started.defer(() => eastLink.close());
    westLink = await TcpProxy.start();
    started.defer(() => westLink.close());
    const links = [eastLink, westLink].values();
    const kdsAddress = (port: number): string => {
      const link = links.next().value;
      if (link === undefined) throw new Error('a link for each zone');
      link.target = port;
      return link.address;
    };
    fleet = await startFleet(inject('postgresUrl'), ['east', 'west'], { kdsAddress, isQuiet: true });
    started.defer(fleet.stop);
    global = fleet.global;
    [east, west] = fleet.zones as [ControlPlane, ControlPlane];
    for (const zone of fleet.zones) await vi.waitFor(async () => expect(await hasMesh(zone)).toBe(true), WAIT);
  });

  // Connections that one case ended must not fail the next.
  beforeEach(() => {
    for (const process of [global, east, west]) if (!process.isRunning) process.start();
  });

  afterAll(() => started.disposeAsync());

  it('may be cut twenty times during writes', async () => {
    await writeDuring('cut', async (moreWrites) => {
      for (let cut = 1; cut <= CUTS; cut += 1) {
        await expect.poll(() => eastLink.connected, { ...WAIT, interval: 1 }).toBeGreaterThan(0);
        await moreWrites(Math.random() * MAX_WRITES);
        eastLink.cut();
        east.assertRunning(`after ${String(cut)} cuts`);
      }
    });
  });

  it('may drop everything: a new connection ends the outage, and no row is written twice', async () => {
    expect(await putTimeout(global, 'before-the-hole', 1)).toBe(201);
    await expectEqualStores(fleet);
    const before = await writesOf(east);
    await writeDuring('hole', async (moreWrites) => {
      eastLink.blackHole();
      expect(await putTimeout(global, 'in-the-hole', 1)).toBe(201);
      const name = hashName({ mesh: 'default', name: 'in-the-hole' });
      await expect.poll(() => isThere(west, 'MeshTimeout', name), WAIT).toBe(true);
      await moreWrites(WRITES_IN_HOLE);
      expect(eastLink.waiting, 'bytes that the hole holds').toBeGreaterThan(0);
      expect(await isThere(east, 'MeshTimeout', name)).toBe(false);
      eastLink.cut();
      eastLink.resume();
      await expect.poll(() => isThere(east, 'MeshTimeout', name), WAIT).toBe(true);
    });
    const after = await writesOf(east);
    expect([...before].filter(([key, written]) => after.get(key) !== written)).toEqual([]);
  });

  it('may lose a connection silently: pings detect it, and a new connection syncs everything', async () => {
    await expectEqualStores(fleet);
    const streams = await openStreams();
    expect(streams).toBeGreaterThan(0);
    const letGo = eastLink.holdBack();
    try {
      expect(await putTimeout(global, 'after-the-loss', 1)).toBe(201);
      expect(await putService(east, 'after-the-loss', 80)).toBe(201);
      const policy = hashName({ mesh: 'default', name: 'after-the-loss' });
      const service = hashName({ mesh: 'default', name: 'after-the-loss', zone: 'east' });
      await expect.poll(() => isThere(west, 'MeshTimeout', policy), WAIT).toBe(true);
      expect(await isThere(east, 'MeshTimeout', policy)).toBe(false);
      await expect.poll(() => isThere(east, 'MeshTimeout', policy), NOTICED).toBe(true);
      await expect.poll(() => isThere(west, 'MeshService', service), WAIT).toBe(true);
      await expectEqualStores(fleet);
      // Global has let go of the lost one too.
      await expect.poll(openStreams, WAIT).toBe(streams);
    } finally {
      letGo();
    }
    // The messages that the lost connection held back have no effect.
    await expectEqualStores(fleet);
  });

  it('may deliver messages of a lost connection after those of the next: the newer state stays', async () => {
    const portOf = async (): Promise<unknown> => {
      const name = hashName({ mesh: 'default', name: 'reordered', zone: 'east' });
      const row = (await global.rows('MeshService')).get(name);
      return (row?.spec as { ports: { port: number }[] } | undefined)?.ports[0]?.port;
    };
    const setPort = (port: number): Promise<unknown> =>
      east.psql.query(`update resources set spec = $1 where name = 'reordered' and type = 'MeshService'`, [
        JSON.stringify({ ports: [{ port, appProtocol: 'http' }] }),
      ]);
    expect(await putService(east, 'reordered', 80)).toBe(201);
    await expect.poll(portOf, WAIT).toBe(80);
    const letGo = eastLink.holdBack();
    try {
      const sent = eastLink.waiting;
      await setPort(81);
      await expect.poll(() => eastLink.waiting, WAIT).toBeGreaterThan(sent);
      await east.end('SIGKILL');
      await setPort(82);
      east.start();
      await expect.poll(portOf, WAIT).toBe(82);
    } finally {
      letGo();
    }
    // When a new write has arrived, the messages in flight on the old connection have arrived too.
    expect(await putService(east, 'after-reordered', 80)).toBe(201);
    const name = hashName({ mesh: 'default', name: 'after-reordered', zone: 'east' });
    await expect.poll(() => isThere(global, 'MeshService', name), WAIT).toBe(true);
    await expectEqualStores(fleet);
    expect(await portOf()).toBe(82);
  });

  it('may be slow: the other zone gets every change without delay, the slow zone skips outdated states', async () => {
    const { psql } = global;
    const name = hashName({ mesh: 'default', name: 'counter' });
    const set = (n: number): Promise<unknown> =>
      psql.query(`update resources set spec = $1 where name = 'counter' and type = 'MeshTimeout'`, [
        JSON.stringify({ n, pad: PAD }),
      ]);
    const counterOf = async (zone: ControlPlane): Promise<{ n: number; version: number }> => {
      const { rows } = await zone.psql.query<{ spec: string; version: number }>(
        'select spec, version from resources where name = $1',
        [name],
      );
      const row = rows[0];
      return row === undefined ? { n: -1, version: -1 } : { n: (JSON.parse(row.spec) as { n: number }).n, version: row.version };
    };
    await psql.query(
      `insert into resources (name, mesh, type, version, spec) values ('counter', 'default', 'MeshTimeout', 0, '{"n":0}')`,
    );
    for (const zone of [east, west]) await expect.poll(async () => (await counterOf(zone)).n, WAIT).toBe(0);
    westLink.throttle(SLOW_BYTES_PER_SECOND);
    const behind: string[] = [];
    for (let n = 1; n <= CHANGES; n += 1) {
      await set(n);
      await expect
        .poll(async () => {
          const slow = await counterOf(west);
          const fast = await counterOf(east);
          if (fast.n < slow.n) behind.push(`${String(fast.n)} when the slow one had ${String(slow.n)}`);
          return fast.n;
        }, WAIT)
        .toBe(n);
    }
    expect(behind, 'the fast zone had').toEqual([]);
    expect((await counterOf(east)).version, 'every change was stored').toBe(CHANGES);
    await expect.poll(async () => (await counterOf(west)).n, WAIT).toBe(CHANGES);
    expect((await counterOf(west)).version, 'outdated states were left out').toBeLessThan(CHANGES);
    expect(await putService(west, 'over-the-slow-link', 80)).toBe(201);
    await expectEqualStores(fleet);
  });
});
