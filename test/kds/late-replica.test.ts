// A zone connects to a replica that has not yet read what another replica has sent to the zone (engine 10).
import { afterEach, describe, expect, it, vi } from 'vitest';
import { feature } from '../../src/kds/protocol/features.ts';
import { PlayedZone } from './played-zone.ts';
import { serverUnderAttack } from './server-under-attack.ts';

describe('a replica', () => {
  const server = serverUnderAttack();
  const key = { type: 'MeshRetry', mesh: 'default', name: 'late' };
  let zone: PlayedZone | undefined;
  afterEach(async () => {
    zone?.leave();
    await server.store.write({ op: 'delete', key });
  });

  it('sends a zone no state before it has every change that was committed before the zone joined (engine 10)', async () => {
    const { store } = server;
    const pass = store.mark.bind(store);
    const asked = Promise.withResolvers<undefined>();
    const arrival = Promise.withResolvers<undefined>();
    // The row is still on its way through the feed of this replica, and the mark behind it.
    vi.spyOn(store, 'mark').mockImplementationOnce(async (id) => {
      asked.resolve(undefined);
      await arrival.promise;
      await store.write({ op: 'create', key, labels: {}, spec: {} });
      await pass(id);
    });
    zone = new PlayedZone(server.dial(), 'guest', [feature.hashSuffix]);
    zone.subscribe('MeshRetry');
    const first = zone.take();
    await Promise.race([asked.promise, first]);
    arrival.resolve(undefined);
    expect((await first).resources).toMatchObject([{ name: expect.stringMatching(/^late-/) as unknown }]);
  });
});
