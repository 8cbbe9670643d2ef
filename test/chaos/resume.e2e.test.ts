// A zone that comes back gets the difference and no more: the bytes on its link are counted.
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { startFleet, WAIT, type ControlPlane, type Fleet } from '../support/control-plane.ts';
import { expectEqualStores } from './compare-stores.ts';
import { hasMesh, putTimeout } from './steady-writes.ts';
import { TcpProxy } from './tcp-proxy.ts';

const ROWS = 5_000;
const CHANGES = 3;
/** A first state of that size takes more than this, */
const FULL_BYTES = 500_000;
/** and the difference, with one empty answer for each type and the frames of HTTP/2, less than this. */
const DIFFERENCE_BYTES = 30_000;

describe('a zone that comes back', () => {
  const started = new AsyncDisposableStack();
  let fleet: Fleet;
  let east: ControlPlane;
  let link: TcpProxy;

  beforeAll(async () => {
    link = await TcpProxy.start();
    started.defer(() => link.close());
    const kdsAddress = (port: number): string => {
      link.target = port;
      return link.address;
    };
    fleet = await startFleet(inject('postgresUrl'), ['east'], { kdsAddress, isQuiet: true });
    started.defer(fleet.stop);
    [east] = fleet.zones as [ControlPlane];
    await vi.waitFor(async () => expect(await hasMesh(east)).toBe(true), WAIT);
    await fleet.global.psql.query(
      `insert into resources (name, mesh, type, version, spec)
       select 'row-' || n, 'default', 'MeshTimeout', 0, json_build_object('n', n)::text from generate_series(1, ${String(ROWS)}) n`,
    );
    await expectEqualStores(fleet);
  });

  afterAll(() => started.disposeAsync());

  it.each([
    ['the zone', () => east],
    ['global', () => fleet.global],
  ])('after kill -9 of %s gets only what changed meanwhile', async (_, killedOf) => {
    const killed = killedOf();
    expect(link.delivered, 'the first state').toBeGreaterThan(FULL_BYTES);
    await killed.end('SIGKILL');
    for (let n = 1; n <= CHANGES; n += 1)
      await fleet.global.psql.query(`update resources set spec = $1 where name = $2`, [
        JSON.stringify({ of: killed.command }),
        `row-${String(n)}`,
      ]);
    const before = link.delivered;
    killed.start();
    await vi.waitFor(async () => expect(await killed.answers()).toBe(true), WAIT);
    expect(await putTimeout(fleet.global, `after-${killed.command}`, 1)).toBe(201);
    await expectEqualStores(fleet);
    expect(link.delivered - before).toBeLessThan(DIFFERENCE_BYTES);
  });
});
