// Calls that fail because of the store of global: they do not count against the address of the zones, which all zones share behind a
// load balancer.
import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { MeridianError } from '../../src/base/errors.ts';
import { syncService } from '../../src/kds/protocol/services.ts';
import { admitAll } from '../../src/kds/protocol/zone-access.ts';
import { ending, open, serverUnderAttack } from './server-under-attack.ts';

const ZONES = 60;

let isStoreDown = false;

describe('a global whose database does not answer', () => {
  const server = serverUnderAttack(undefined, {
    async admit(...caller) {
      if (isStoreDown) throw new MeridianError('unavailable', 'the database does not answer');
      return await admitAll(...caller);
    },
  });

  it('tells each zone so, and closes no connection because of it', async () => {
    isStoreDown = true;
    const joins = Array.from({ length: ZONES }, (_, n) => {
      const client = server.dial();
      return [0, 1, 2, 3, 4].map(() => ending(open(client, syncService.globalToZoneSync, `zone-${String(n)}`)));
    });
    const ends = await Promise.all(joins.flat());
    isStoreDown = false;
    expect(new Set(ends.map(({ code, details }) => `${status[code]}: ${details}`))).toEqual(
      new Set(['UNAVAILABLE: the database does not answer']),
    );
    expect(server.logged.join('')).not.toContain('too many refused calls');
  });
});
