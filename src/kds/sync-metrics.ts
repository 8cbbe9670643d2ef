// The metrics of the protocol, under Kuma's names where Kuma has them (rest-api 8), and the lag of each zone and type (D32). Their
// sources are the events of the sessions and, for the lag, the open streams.
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { resourceTypes } from '../resource/type-registry.ts';
import type { QuotaName, StreamKind, SyncEvent } from './protocol/sync-events.ts';
import type { OpenSenders } from './sender/open-senders.ts';

export type SyncMetricsOptions = {
  readonly registry: Registry;
  /** The side of these metrics: on global each peer is a zone; on a zone, it is itself the zone of every series. */
  readonly side: { readonly mode: 'global' } | { readonly mode: 'zone'; readonly zone: string };
  /** The open streams that send. */
  readonly senders: Pick<OpenSenders, 'unaccepted'>;
};

export type SyncMetrics = {
  /** Records an event; never throws, never waits. */
  observe(event: SyncEvent): void;
  /** Drops the series of a deleted zone. Its open streams no longer count; its lag ends with them. */
  forget(zone: string): void;
};

const MILLISECONDS = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000];
const BYTES = [256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 10_485_760];

/** Registers the metrics. Call it once per registry. */
export function createSyncMetrics({ registry, side, senders }: SyncMetricsOptions): SyncMetrics {
  const series = seriesIn(registry, senders);
  const serverStream: StreamKind = side.mode === 'global' ? 'globalToZone' : 'zoneToGlobal';
  const open = new Map<string, { readonly stream: StreamKind; readonly zone: string }>();
  const zoneOf = (event: SyncEvent): string => (side.mode === 'global' ? event.peer : side.zone);

  function count(stream: StreamKind, zone: string, by: 1 | -1): void {
    if (stream === serverStream) series.streams.inc(by);
    if (stream === 'globalToZone' || stream === 'zoneToGlobal') series.connections.inc({ zone_name: zone }, by);
  }

  function forgetWithheld(zone: string): void {
    for (const { name } of resourceTypes) series.withheld.remove({ zone_name: zone, resource_type: name });
  }

  function observe(event: SyncEvent): void {
    const zone = zoneOf(event);
    switch (event.kind) {
      case 'opened':
        open.set(event.streamId, { stream: event.stream, zone });
        count(event.stream, zone, 1);
        break;
      case 'closed':
        if (!open.delete(event.streamId)) break;
        count(event.stream, zone, -1);
        if (event.stream === serverStream) forgetWithheld(zone);
        break;
      case 'sent':
        series.sent.inc({ type_url: event.type });
        series.sentBytes.observe({ type_url: event.type }, event.bytes);
        break;
      case 'acknowledged':
        series.requests.inc({ type_url: event.type, confirmation: 'ACK', error_type: 'no_error' });
        series.delivery.observe(event.seconds * 1000);
        break;
      case 'rejected':
        series.requests.inc({ type_url: event.type, confirmation: 'NACK', error_type: event.fault });
        series.nacks.inc({ zone_name: zone, resource_type: event.type });
        break;
      case 'received':
        series.stored.observe(event.seconds);
        break;
      case 'overQuota':
        series.overQuota.inc({ zone_name: zone, quota: event.quota });
        break;
      case 'withheld':
        if (open.has(event.streamId)) series.withheld.set({ zone_name: zone, resource_type: event.type }, event.count);
        break;
      case 'node':
      case 'refused':
      case 'passed':
      case 'counted':
      case 'healthCheck':
        break;
    }
  }

  return {
    observe,
    forget(zone) {
      // Their `closed` events come later, and would make the counts negative.
      for (const [streamId, { stream, zone: owner }] of open) {
        if (owner !== zone) continue;
        open.delete(streamId);
        count(stream, zone, -1);
      }
      series.connections.remove({ zone_name: zone });
      for (const quota of ['streams', 'rows', 'fullStates'] satisfies QuotaName[])
        series.overQuota.remove({ zone_name: zone, quota });
      forgetWithheld(zone);
    },
  };
}

function seriesIn(registry: Registry, senders: SyncMetricsOptions['senders']) {
  const registers = [registry];
  const counter = <L extends string>(name: string, help: string, ...labelNames: L[]): Counter<L> =>
    new Counter({ name, help, labelNames, registers });
  const gauge = <L extends string>(name: string, help: string, ...labelNames: L[]): Gauge<L> =>
    new Gauge({ name, help, labelNames, registers });
  return {
    streams: gauge('kds_delta_streams_active', 'Open streams on which this side is the server'),
    connections: gauge('kds_zone_active_connections', 'Open sync streams of a zone, both directions', 'zone_name'),
    sent: counter('kds_delta_responses_sent', 'Responses sent', 'type_url'),
    sentBytes: new Histogram({
      name: 'kds_delta_responses_sent_bytes',
      help: 'Size of the responses sent',
      labelNames: ['type_url'],
      buckets: BYTES,
      registers,
    }),
    requests: counter('kds_delta_requests_received', 'Answers of peers to responses', 'type_url', 'confirmation', 'error_type'),
    nacks: counter('kds_nack_total', 'Responses that a zone refused', 'zone_name', 'resource_type'),
    delivery: new Histogram({
      name: 'kds_delta_delivery',
      help: 'Milliseconds from a response to its acknowledgement',
      buckets: MILLISECONDS,
      registers,
    }),
    stored: new Histogram({ name: 'kds_resources_sync', help: 'Seconds to store a response of the peer', registers }),
    overQuota: counter(
      'meridian_zone_over_quota_total',
      'Streams and responses of a zone that were refused, and full states that wait, because the zone is over multizone.global.kds.quotas',
      'zone_name',
      'quota',
    ),
    lag: new Gauge({
      name: 'meridian_sync_lag_seconds',
      help: 'Seconds since the oldest response that the peer has not accepted, 0 when in step',
      labelNames: ['zone', 'resource_type'],
      registers,
      collect() {
        this.reset();
        for (const { zone, type, ms } of senders.unaccepted()) this.set({ zone, resource_type: type }, ms / 1000);
      },
    }),
    withheld: gauge(
      'meridian_resources_withheld',
      'Resources that are not sent to the peer, or not removed from it, because the peer cannot read them or their mesh is unknown',
      'zone_name',
      'resource_type',
    ),
  };
}
