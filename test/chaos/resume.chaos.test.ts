// A new connection carries only the difference, in both directions. The test counts the bytes on the link.
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { startFleet, WAIT, type ControlPlane, type Fleet } from '../support/control-plane.ts';
import { sized } from '../support/test-size.ts';
import { expectEqualStores } from './compare-stores.ts';
import { hasMesh, putService, putTimeout } from './steady-writes.ts';
import { TcpProxy } from './tcp-proxy.ts';

const ROWS = sized({ push: 2_000, full: 5_000 });
const CHANGES = 3;
/** A first state of that size takes more than this, */
const FULL_BYTES = 100 * ROWS;
/** and the difference, with one empty answer for each type and the frames of HTTP/2, less than this. */
const DIFFERENCE_BYTES = 30_000;
/** A zone subscribes to each type with its configuration: that comes on top of what it sends. */
const SUBSCRIPTION_BYTES = 110_000;

describe('a reconnection', () => {
  const started = new AsyncDisposableStack();
  let fleet: Fleet;
  let east: ControlPlane;
  let link: TcpProxy;

  /** Specs are complete: a copy has the defaults that its original leaves out. */
  const insert = (side: ControlPlane, type: string): Promise<unknown> =>
    side.psql.query(
      `insert into resources (name, mesh, type, version, spec)
       select 'row-' || n, 'default', $1, 0, json_build_object('ports', json_build_array(json_build_object('port', n, 'appProtocol', 'tcp')))::text
       from generate_series(1, $2::int) n`,
      [type, ROWS],
    );
  const remove = (side: ControlPlane, type: string): Promise<unknown> =>
    side.psql.query(`delete from resources where type = $1 and sync_version is null`, [type]);

  /** Bytes from one side to the other while the killed process comes back, some rows having changed meanwhile. */
  async function bytesOfReturn(killed: ControlPlane, writer: ControlPlane, type: string): Promise<{ down: number; up: number }> {
    await killed.end('SIGKILL');
    for (let n = 1; n <= CHANGES; n += 1)
      await writer.psql.query(`update resources set spec = $1 where name = $2 and type = $3 and sync_version is null`, [
        JSON.stringify({ ports: [{ port: n, appProtocol: 'tcp' }], of: killed.command }),
        `row-${String(n)}`,
        type,
      ]);
    const before = { down: link.delivered, up: link.sent };
    killed.start();
    await vi.waitFor(async () => expect(await killed.answers()).toBe(true), WAIT);
    const name = `after-${killed.command}-${type.toLowerCase()}`;
    expect(await putTimeout(fleet.global, name, 1)).toBe(201);
    expect(await putService(east, name, 80)).toBe(201);
    await expectEqualStores(fleet);
    return { down: link.delivered - before.down, up: link.sent - before.up };
  }

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
  });

  afterAll(() => started.disposeAsync());

  const sides = [
    ['the zone', () => east],
    ['global', () => fleet.global],
  ] as const;

  describe('a zone with many resources of global', () => {
    beforeAll(async () => {
      await insert(fleet.global, 'MeshTimeout');
      await expectEqualStores(fleet);
      expect(link.delivered, 'the first state').toBeGreaterThan(FULL_BYTES);
    });

    it.each(sides)('gets only the changes of the outage after kill -9 of %s', async (_, killedOf) => {
      const { down } = await bytesOfReturn(killedOf(), fleet.global, 'MeshTimeout');
      expect(down).toBeLessThan(DIFFERENCE_BYTES);
    });
  });

  // The first request names the versions of rows from the peer, so the count of the other direction excludes the rows of global.
  describe('a global with many resources of a zone', () => {
    beforeAll(async () => {
      await remove(fleet.global, 'MeshTimeout');
      await expectEqualStores(fleet);
      const before = link.sent;
      await insert(east, 'MeshService');
      await expectEqualStores(fleet);
      expect(link.sent - before, 'the first state').toBeGreaterThan(FULL_BYTES);
    });

    it.each(sides)('gets only the changes of the outage after kill -9 of %s', async (_, killedOf) => {
      const { up } = await bytesOfReturn(killedOf(), east, 'MeshService');
      expect(up).toBeLessThan(DIFFERENCE_BYTES + SUBSCRIPTION_BYTES);
    });
  });
});
