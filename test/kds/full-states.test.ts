// A zone that asks for its full state again and again waits for it; one that says what it has does not.
import { describe, expect, it, vi } from 'vitest';
import { feature } from '../../src/kds/protocol/features.ts';
import { DEFAULT_QUOTAS } from '../../src/kds/admission/quotas.ts';
import type { SyncEvent } from '../../src/kds/protocol/sync-events.ts';
import { clusterIdKey } from '../../src/defaults/create-defaults.ts';
import { PlayedZone } from './played-zone.ts';
import { serverUnderAttack, SLOW } from './server-under-attack.ts';

const HOUR = 3_600_000;
const mesh = { type: 'Mesh', mesh: '', name: 'default' };

describe('a global that limits the full states of a zone', () => {
  const server = serverUnderAttack(undefined, { quotas: { ...DEFAULT_QUOTAS, fullStates: 2, fullStateInterval: HOUR } });
  const join = (name: string): PlayedZone => new PlayedZone(server.dial(), name, [feature.hashSuffix]);

  it('sends the next one later and says so, and the difference at once', async () => {
    const delayed: SyncEvent[] = [];
    server.observers.push((event) => void (event.kind === 'overQuota' && delayed.push(event)));
    await server.store.write({ op: 'create', key: mesh, labels: {}, spec: {} });
    let version = '';
    for (const name of ['east', 'east', 'west']) {
      const zone = join(name);
      zone.subscribe('MeshTimeout');
      const [timeout] = (await zone.take()).resources;
      expect(timeout?.name).toBe(SLOW);
      version = timeout?.version ?? '';
      zone.leave();
    }
    expect(delayed).toEqual([]);

    const late = join('east');
    late.subscribe('MeshTimeout');
    const reason = expect.stringMatching(/full state too often: the next one is sent in 3[56]\d\d s/) as string;
    await vi.waitFor(() => expect(delayed).toEqual([{ kind: 'overQuota', peer: 'east', quota: 'fullStates', reason }]));
    expect(server.logged.filter((line) => line.includes('the full state of a zone waits'))).toHaveLength(1);
    expect(await server.registry.metrics()).toContain('meridian_zone_over_quota_total{zone_name="east",quota="fullStates"} 1');

    const resuming = join('east');
    resuming.subscribe('MeshTimeout', new Map([[SLOW, version]]));
    expect((await resuming.take()).resources).toEqual([]);
    await server.store.write({ op: 'delete', key: mesh });
    late.leave();
    resuming.leave();
  });

  it('never delays a zone that asks for its cluster first, and names its versions then', async () => {
    const delayed: SyncEvent[] = [];
    server.observers.push((event) => void (event.kind === 'overQuota' && delayed.push(event)));
    await server.store.write({ op: 'create', key: clusterIdKey, labels: {}, spec: { config: 'ours' } });
    for (let connection = 0; connection < 4; connection += 1) {
      const zone = join('north');
      zone.subscribe('Config');
      expect((await zone.take()).resources.map(({ name }) => name)).toEqual(['kuma-cluster-id.']);
      zone.subscribe('MeshTimeout', new Map([[SLOW, 'of an older state']]));
      expect((await zone.take()).resources.map(({ name }) => name)).toEqual([SLOW]);
      zone.leave();
    }
    expect(delayed).toEqual([]);
  });
});
