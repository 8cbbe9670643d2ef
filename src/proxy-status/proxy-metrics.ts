// The metrics of the streams of proxies, under Kuma's names where Kuma has them (rest-api 8). Fed by events alone.
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { ProxyEvent, ProxyObserver } from '../ads/proxy-events.ts';
import { XDS_MESSAGES } from '../ads/encode-resources.ts';
import type { XdsType } from '../ads/session.ts';
import type { Clock } from '../base/clock.ts';
import { TYPE_URL_PREFIX } from '../wire/any.ts';

const MILLISECONDS = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 15_000, 60_000];

/** What is open of one stream. @property sentAt of the last response of a type: one of a type waits for its answer at most */
type Open = { readonly sentAt: Map<XdsType, number>; refused: number; problems: number };

/** Registers the metrics and returns what feeds them. Once per registry. */
export function createProxyMetrics(registry: Registry, clock: Pick<Clock, 'elapsed'>): ProxyObserver {
  const registers = [registry];
  const open = new Map<string, Open>();
  const sum = (of: (one: Open) => number): number => [...open.values()].reduce((total, one) => total + of(one), 0);
  const gauge = (name: string, help: string, value: () => number): void => {
    new Gauge({
      ...{ name, help, registers },
      collect() {
        this.set(value());
      },
    });
  };
  gauge('xds_streams_active', 'Open streams of proxies', () => open.size);
  gauge('meridian_xds_resources_refused', 'Resources that connected proxies refuse now', () => sum(({ refused }) => refused));
  gauge('meridian_xds_config_problems', 'Parts of the configurations of connected proxies that could not be made', () =>
    sum(({ problems }) => problems),
  );
  const sent = new TypeCounts();
  const accepted = new TypeCounts();
  const refused = new TypeCounts();
  new Counter({
    ...{ name: 'xds_responses_sent', help: 'Responses sent to proxies', labelNames: ['type_url'], registers },
    collect() {
      sent.take((type_url, many) => this.inc({ type_url }, many));
    },
  });
  new Counter({
    name: 'xds_requests_received',
    help: 'Answers of proxies to responses',
    labelNames: ['type_url', 'confirmation'],
    registers,
    collect() {
      accepted.take((type_url, many) => this.inc({ type_url, confirmation: 'ACK' }, many));
      refused.take((type_url, many) => this.inc({ type_url, confirmation: 'NACK' }, many));
    },
  });
  const delivery = new Histogram({
    name: 'xds_delivery',
    help: 'Milliseconds from a response to its acknowledgement',
    buckets: MILLISECONDS,
    registers,
  });
  const answered = (stream: Open, event: Extract<ProxyEvent, { kind: 'accepted' | 'refused' }>): void => {
    (event.kind === 'accepted' ? accepted : refused).add(event.type);
    stream.refused = event.standing.length;
    const since = stream.sentAt.get(event.type);
    if (since !== undefined && event.kind === 'accepted') delivery.observe(clock.elapsed() - since);
  };
  return (event) => {
    if (event.kind === 'opened') open.set(event.streamId, { sentAt: new Map(), refused: 0, problems: 0 });
    const stream = open.get(event.streamId);
    if (stream === undefined) return;
    switch (event.kind) {
      case 'sent':
        sent.add(event.type);
        stream.sentAt.set(event.type, clock.elapsed());
        break;
      case 'accepted':
      case 'refused':
        answered(stream, event);
        break;
      case 'problems':
        stream.problems = event.problems.length;
        break;
      case 'closed':
        open.delete(event.streamId);
        break;
      case 'opened':
    }
  };
}

/** What was counted since the metric was last read: a changed policy counts two for each proxy, and a label costs a hash. */
class TypeCounts {
  readonly #counts = new Map<XdsType, number>();

  add(type: XdsType): void {
    this.#counts.set(type, (this.#counts.get(type) ?? 0) + 1);
  }

  take(each: (typeUrl: string, many: number) => void): void {
    for (const [type, many] of this.#counts) each(TYPE_URL_PREFIX + XDS_MESSAGES[type], many);
    this.#counts.clear();
  }
}
