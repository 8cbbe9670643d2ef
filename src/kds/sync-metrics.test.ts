import { describe, expect, it } from 'vitest';
import { createRegistry } from '../base/process-metrics.ts';
import { namedResources } from './protocol/refusal-report.ts';
import type { SyncEvent } from './protocol/sync-events.ts';
import { createSyncMetrics } from './sync-metrics.ts';

const stream = { peer: 'east', streamId: 's1' } as const;
const opened: SyncEvent = { kind: 'opened', ...stream, stream: 'globalToZone', authorized: false };
const closed: SyncEvent = { kind: 'closed', ...stream, stream: 'globalToZone', error: null };
const sent: SyncEvent = { kind: 'sent', position: 1, ...stream, type: 'MeshTimeout', resources: 2, removed: 0, bytes: 500 };
const acknowledged: SyncEvent = { kind: 'acknowledged', position: 1, ...stream, type: 'MeshTimeout', seconds: 0.02 };
const rejected: SyncEvent = { kind: 'rejected', position: 1, ...stream, type: 'MeshTimeout', fault: 'user', message: 'no' };

function setUp(side: Parameters<typeof createSyncMetrics>[0]['side'] = { mode: 'global' }) {
  const registry = createRegistry(side.mode === 'global' ? 'Global' : side.zone);
  const unaccepted: { zone: string; type: string; ms: number }[] = [];
  const metrics = createSyncMetrics({ registry, side, senders: { unaccepted: () => unaccepted } });
  const observe = (...events: SyncEvent[]): void => events.forEach((event) => metrics.observe(event));
  const lines = async (name: string): Promise<string[]> =>
    (await registry.metrics()).split('\n').filter((line) => line.startsWith(name));
  return { metrics, observe, lines, unaccepted };
}

describe('the metrics of the protocol', () => {
  it("count responses, answers and refusals under Kuma's metric names", async () => {
    const { observe, lines } = setUp();
    observe(opened, { ...opened, streamId: 's2', stream: 'zoneToGlobal' }, sent, acknowledged, sent, rejected);
    observe({ kind: 'received', ...stream, type: 'Dataplane', written: 1, refused: namedResources(new Map()), seconds: 0.1 });
    expect(await lines('kds_delta_responses_sent{')).toEqual([
      'kds_delta_responses_sent{type_url="MeshTimeout",zone="Global"} 2',
    ]);
    expect(await lines('kds_delta_requests_received')).toEqual([
      'kds_delta_requests_received{type_url="MeshTimeout",confirmation="ACK",error_type="no_error",zone="Global"} 1',
      'kds_delta_requests_received{type_url="MeshTimeout",confirmation="NACK",error_type="user",zone="Global"} 1',
    ]);
    expect(await lines('kds_nack_total')).toEqual([
      'kds_nack_total{zone_name="east",resource_type="MeshTimeout",zone="Global"} 1',
    ]);
    expect(await lines('kds_delta_delivery_sum')).toEqual(['kds_delta_delivery_sum{zone="Global"} 20']);
    expect(await lines('kds_resources_sync_count')).toEqual(['kds_resources_sync_count{zone="Global"} 1']);
    expect(await lines('kds_delta_responses_sent_bytes_sum')).toEqual([
      'kds_delta_responses_sent_bytes_sum{zone="Global",type_url="MeshTimeout"} 1000',
    ]);
  });

  it('count open streams, and a stream once when it ends twice', async () => {
    const { metrics, observe, lines } = setUp();
    observe(opened, { ...opened, streamId: 's2', stream: 'zoneToGlobal' }, { ...opened, streamId: 's3', stream: 'stats' });
    expect(await lines('kds_delta_streams_active')).toEqual(['kds_delta_streams_active{zone="Global"} 1']);
    expect(await lines('kds_zone_active_connections')).toEqual(['kds_zone_active_connections{zone_name="east",zone="Global"} 2']);
    observe(closed, closed);
    expect(await lines('kds_delta_streams_active')).toEqual(['kds_delta_streams_active{zone="Global"} 0']);
    expect(await lines('kds_zone_active_connections')).toEqual(['kds_zone_active_connections{zone_name="east",zone="Global"} 1']);
    metrics.forget('east');
    expect(await lines('kds_zone_active_connections')).toEqual([]);
  });

  it('count withheld resources until the stream that sends them ends, or their zone is deleted', async () => {
    const { metrics, observe, lines } = setUp();
    const withheld = (type: string, ...names: string[]): SyncEvent => ({
      ...{ kind: 'withheld', ...stream, type, all: null, count: names.length },
      resources: new Map(names.map((name) => [name, 'too large'])),
    });
    const other = { ...opened, streamId: 's2', stream: 'zoneToGlobal' } as const;
    observe(opened, other, withheld('MeshTimeout', 'a', 'b'), withheld('MeshRetry', 'c'));
    const counted = [
      'meridian_resources_withheld{zone_name="east",resource_type="MeshTimeout",zone="Global"} 2',
      'meridian_resources_withheld{zone_name="east",resource_type="MeshRetry",zone="Global"} 1',
    ];
    expect(await lines('meridian_resources_withheld{')).toEqual(counted);
    observe({ ...closed, streamId: 's2', stream: 'zoneToGlobal' });
    expect(await lines('meridian_resources_withheld{')).toEqual(counted);
    observe(closed);
    expect(await lines('meridian_resources_withheld{')).toEqual([]);
    observe(opened, withheld('MeshTimeout', 'a'));
    metrics.forget('east');
    expect(await lines('meridian_resources_withheld{')).toEqual([]);
  });

  it('count all resources of a type that is withheld as a whole', async () => {
    const { observe, lines } = setUp();
    const whole = { kind: 'withheld', ...stream, type: 'MeshTimeout', resources: new Map<string, string>() } as const;
    observe(opened, { ...whole, all: 'too large', count: 3 });
    const series = 'meridian_resources_withheld{zone_name="east",resource_type="MeshTimeout",zone="Global"}';
    expect(await lines('meridian_resources_withheld{')).toEqual([`${series} 3`]);
    observe({ ...whole, all: null, count: 0 });
    expect(await lines('meridian_resources_withheld{')).toEqual([`${series} 0`]);
  });

  it('ignore the end of a stream after the deletion of its zone, and count new streams from zero', async () => {
    const { metrics, observe, lines } = setUp();
    observe(opened);
    metrics.forget('east');
    observe(closed);
    expect(await lines('kds_delta_streams_active')).toEqual(['kds_delta_streams_active{zone="Global"} 0']);
    expect(await lines('kds_zone_active_connections')).toEqual([]);
    // The streams of the other zones remain.
    observe({ ...opened, streamId: 's2' });
    metrics.forget('west');
    expect(await lines('kds_zone_active_connections')).toEqual(['kds_zone_active_connections{zone_name="east",zone="Global"} 1']);
    observe({ ...closed, streamId: 's2' });
    expect(await lines('kds_zone_active_connections')).toEqual(['kds_zone_active_connections{zone_name="east",zone="Global"} 0']);
  });

  it('count the excess of a zone over its quotas, until the zone is deleted', async () => {
    const { metrics, observe, lines } = setUp();
    for (const quota of ['streams', 'rows', 'rows'] as const) observe({ kind: 'overQuota', peer: 'east', quota, reason: 'no' });
    observe({ kind: 'overQuota', peer: 'west', quota: 'rows', reason: 'no' });
    const west = 'meridian_zone_over_quota_total{zone_name="west",quota="rows",zone="Global"} 1';
    expect(await lines('meridian_zone_over_quota_total')).toEqual([
      'meridian_zone_over_quota_total{zone_name="east",quota="streams",zone="Global"} 1',
      'meridian_zone_over_quota_total{zone_name="east",quota="rows",zone="Global"} 2',
      west,
    ]);
    metrics.forget('east');
    expect(await lines('meridian_zone_over_quota_total')).toEqual([west]);
  });

  it('show in seconds for how long zones have not accepted a type, as it is when they are read', async () => {
    const { lines, unaccepted } = setUp();
    expect(await lines('meridian_sync_lag_seconds')).toEqual([]);
    unaccepted.push({ zone: 'east', type: 'MeshTimeout', ms: 2_500 }, { zone: 'west', type: 'Mesh', ms: 0 });
    expect(await lines('meridian_sync_lag_seconds')).toEqual([
      'meridian_sync_lag_seconds{zone="east",resource_type="MeshTimeout"} 2.5',
      'meridian_sync_lag_seconds{zone="west",resource_type="Mesh"} 0',
    ]);
    unaccepted.shift();
    expect(await lines('meridian_sync_lag_seconds')).toEqual(['meridian_sync_lag_seconds{zone="west",resource_type="Mesh"} 0']);
  });

  it('have the name of the zone on a zone', async () => {
    const { observe, lines } = setUp({ mode: 'zone', zone: 'east' });
    const up = { peer: 'global', streamId: 'u1' };
    observe({ kind: 'opened', ...up, stream: 'zoneToGlobal', authorized: true }, { ...sent, ...up });
    expect(await lines('kds_zone_active_connections')).toEqual(['kds_zone_active_connections{zone_name="east",zone="east"} 1']);
    expect(await lines('kds_delta_streams_active')).toEqual(['kds_delta_streams_active{zone="east"} 1']);
  });

  it('have buckets from a millisecond to a minute, and from 256 bytes to the largest message', async () => {
    const { observe, lines } = setUp();
    observe(opened, sent, acknowledged);
    const bounds = async (name: string): Promise<string[]> =>
      (await lines(`${name}_bucket`)).map((line) => /le="([^"]+)"/.exec(line)?.[1] ?? '');
    expect(await bounds('kds_delta_delivery')).toEqual(
      '1 2.5 5 10 25 50 100 250 500 1000 2500 5000 10000 30000 60000 +Inf'.split(' '),
    );
    expect(await bounds('kds_delta_responses_sent_bytes')).toEqual(
      '256 1024 4096 16384 65536 262144 1048576 4194304 10485760 +Inf'.split(' '),
    );
  });
});
