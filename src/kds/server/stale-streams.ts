// Finds streams of zones that are probably gone: streams of a zone without health checks, and streams that a newer one of the same
// kind replaces (`zoneHealthCheck`, kds-wire 2.5). Off unless configured: pings of the transport detect dead connections.
import { every, type Clock } from '../../base/clock.ts';
import type { Caller } from '../protocol/peer-metadata.ts';
import { feature } from '../protocol/features.ts';
import type { StreamsByZone } from './streams-by-zone.ts';
import type { StreamKind } from '../protocol/sync-events.ts';
import { canceled } from '../../grpc/status.ts';

export type HealthPolicy = {
  /** The milliseconds between two checks of the streams, and between the health checks that zones must send; 0 disables both. */
  readonly pollInterval: number;
  /** The milliseconds without a health check after which a zone counts as gone; 0 means never. */
  readonly timeout: number;
  /** A new stream ends an older one of its zone and kind. */
  readonly closeStaleConn: boolean;
};

export const NO_HEALTH_POLICY: HealthPolicy = { pollInterval: 0, timeout: 0, closeStaleConn: false };

export type WatchedStream = Pick<Caller, 'zone' | 'features'> & {
  readonly kind: StreamKind;
  readonly end: (error: Error) => void;
};

export class StaleStreams {
  readonly #policy: HealthPolicy;
  readonly #streams: Pick<StreamsByZone<WatchedStream>, 'of' | 'has' | 'all'>;
  readonly #clock: Clock;
  /** The time at which a zone last opened a stream or checked its health, by zone. */
  readonly #lastSeen = new Map<string, number>();
  readonly #closed = new AbortController();

  /** @param streams the open streams */
  constructor(policy: HealthPolicy, streams: Pick<StreamsByZone<WatchedStream>, 'of' | 'has' | 'all'>, clock: Clock) {
    this.#policy = policy;
    this.#streams = streams;
    this.#clock = clock;
    if (this.#isWatching) void every(clock, policy.pollInterval, this.#closed.signal, () => this.#endSilent());
  }

  /** Notes that the zone checked its health. */
  seen(zone: string): void {
    if (this.#isWatching) this.#lastSeen.set(zone, this.#clock.elapsed());
  }

  opened(stream: WatchedStream): void {
    this.seen(stream.zone);
    if (!this.#policy.closeStaleConn) return;
    for (const other of this.#streams.of(stream.zone)) {
      // The streams after it are newer, and wait to open.
      if (other === stream) return;
      if (other.kind === stream.kind) other.end(canceled('stream canceled - stream stopped'));
    }
  }

  close(): void {
    this.#closed.abort();
  }

  get #isWatching(): boolean {
    return this.#policy.pollInterval > 0 && this.#policy.timeout > 0;
  }

  #endSilent(): void {
    const latest = this.#clock.elapsed() - this.#policy.timeout;
    for (const zone of this.#lastSeen.keys()) if (!this.#streams.has(zone)) this.#lastSeen.delete(zone);
    for (const { zone, features, end } of this.#streams.all()) {
      // It is undefined while the first stream of the zone waits to open.
      const at = this.#lastSeen.get(zone);
      if (at !== undefined && at < latest && features.includes(feature.zonePingHealth))
        end(canceled('stream canceled - zone hc failed'));
    }
  }
}
