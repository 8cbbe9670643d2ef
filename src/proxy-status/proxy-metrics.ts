// The metrics of the streams of proxies, under Kuma's names where Kuma has them (rest-api 8). Their only source are events.
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { CountStream, ProxyEvent, ProxyObserver } from '../ads/proxy-events.ts';
import { XDS_MESSAGES } from '../ads/encode-resources.ts';
import { XDS_ORDER, XDS_TYPES, type XdsType } from '../ads/session-messages.ts';
import type { Clock } from '../base/clock.ts';
import { TYPE_URL_PREFIX } from '../wire/any.ts';

const MILLISECONDS = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 15_000, 60_000];

/** It means that nothing was sent. It is a fraction, because an array of fractions keeps its numbers in place. */
const NEVER = -0.5;
/**
 * The state of one open stream.
 * @property sentAt the time of the last response of each type: at most one of a type waits for its answer
 */
type Open = { readonly sentAt: number[]; refused: number; problems: number };

/** @property count takes the events that `observe` does not get */
type ProxyMetrics = { readonly observe: ProxyObserver; readonly count: CountStream };

/** Registers the metrics and returns their observer. Call it once per registry. */
export function createProxyMetrics(registry: Registry, clock: Pick<Clock, 'elapsed'>): ProxyMetrics {
  const open = new Map<string, Open>();
  registerGauges(registry, open);
  const { sent, accepted, refused, delivery } = registerCounts(registry);
  const sentOne = (stream: Open, type: XdsType): void => {
    sent.add(type);
    stream.sentAt[XDS_ORDER[type]] = clock.elapsed();
  };
  const acceptedOne = (stream: Open, type: XdsType, standing: number): void => {
    accepted.add(type);
    stream.refused = standing;
    const since = stream.sentAt[XDS_ORDER[type]] ?? NEVER;
    if (since !== NEVER) delivery.observe(clock.elapsed() - since);
  };
  const observe = (event: ProxyEvent): void => {
    if (event.kind === 'opened') open.set(event.streamId, { sentAt: XDS_TYPES.map(() => NEVER), refused: 0, problems: 0 });
    const stream = open.get(event.streamId);
    if (stream === undefined) return;
    switch (event.kind) {
      case 'sent':
        sentOne(stream, event.type);
        break;
      case 'accepted':
        acceptedOne(stream, event.type, event.standing.length);
        break;
      case 'refused':
        refused.add(event.type);
        stream.refused = event.standing.length;
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
  const count: CountStream = ({ streamId }) => {
    let stream: Open | undefined;
    const opened = (): Open | undefined => (stream ??= open.get(streamId));
    return {
      sent: (type) => {
        const one = opened();
        if (one !== undefined) sentOne(one, type);
      },
      accepted: (type) => {
        const one = opened();
        if (one !== undefined) acceptedOne(one, type, 0);
      },
    };
  };
  return { observe, count };
}

/** The present values, read from the open streams. */
function registerGauges(registry: Registry, open: ReadonlyMap<string, Open>): void {
  const sum = (of: (one: Open) => number): number => [...open.values()].reduce((total, one) => total + of(one), 0);
  const gauge = (name: string, help: string, value: () => number): void => {
    new Gauge({
      ...{ name, help, registers: [registry] },
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
}

function registerCounts(registry: Registry) {
  const registers = [registry];
  const [sent, accepted, refused] = [new TypeCounts(), new TypeCounts(), new TypeCounts()];
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
  return { sent, accepted, refused, delivery };
}

/** Counts since the last scrape: a changed policy counts two for each proxy, and each label costs a hash. */
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
