// What the receipts of a large fleet take: the memory of the times and of what is known of each zone, and CPU for each acknowledgement.
// Without a network: events as the streams of zones make them.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { nodeFeatures } from '../src/kds/protocol/features.ts';
import { zoneConsumes } from '../src/kds/protocol/rules.ts';
import type { SyncEvent } from '../src/kds/protocol/sync-events.ts';
import { RecentChanges } from '../src/receipts/recent-changes.ts';
import type { Context, Sections } from './context.ts';
import { cpuMs } from './measure.ts';
import { budgets, metricsOf, type Metric } from './metric.ts';
import { TYPE } from './policies.ts';
import type { Settings } from './settings.ts';

const ZONES = 10_000;
const CHANGES = 1_000;
/** Changes that one acknowledgement covers. */
const AT_ONCE = 10;

export const receipts: Sections<Settings> = {
  names: { receipts: `receipts of ${String(CHANGES)} changes at ${String(ZONES)} zones: memory, and CPU of an acknowledgement` },
  measure: async ({ say }: Context<Settings>) => {
    say(`${String(ZONES)} zones acknowledge ${String(CHANGES)} changes`);
    return measureReceipts();
  },
};

function measureReceipts(): Metric[] {
  const before = usedBytes();
  const changes = new RecentChanges('globalToZone');
  const zones = Array.from({ length: ZONES }, (_, at) => `zone-${String(at)}`);
  for (const zone of zones) for (const event of connectionOf(zone)) changes.observe(event, 0);
  const connected = usedBytes();
  const began = process.cpuUsage();
  for (let position = 1; position <= CHANGES; position += 1) {
    const name = `timeout-${String(position)}`;
    const logged = { type: TYPE, mesh: 'default', name, wireName: `${name}.default`, position, version: 0, isRemoval: false };
    changes.append({ ...logged, isNew: true, visibility: { to: 'all' }, committedAt: new Date(position) }, position);
    if (position % AT_ONCE > 0) continue;
    for (const zone of zones) for (const event of answerOf(zone, position)) changes.observe(event, position + 20);
  }
  const spent = cpuMs(process.cpuUsage(began));
  const after = usedBytes();
  // They live until here: else the collection takes them.
  const times = changes.newest().filter((one) => one.times !== null).length;
  const metric = metricsOf('receipts');
  return [
    metric(`memory of ${String(CHANGES)} changes`, 'MB', (after - connected) / 1e6, { budget: budgets.receiptsMb }),
    metric('… of them with the times of zones', '', times),
    metric(`memory of ${String(ZONES)} zones`, 'MB', (connected - before) / 1e6),
    metric('CPU for each zone and change', 'µs', (spent * 1_000) / (ZONES * CHANGES)),
  ];
}

/** A stream that is open, and has everything of each type. */
function* connectionOf(peer: string): Generator<SyncEvent> {
  const about = { peer, streamId: `${peer}-1` };
  yield { kind: 'opened', ...about, stream: 'globalToZone', authorized: true };
  yield { kind: 'node', ...about, node: { version: {}, config: '', instanceId: 'x', features: [...nodeFeatures] } };
  for (const { name: type } of zoneConsumes) {
    yield { kind: 'sent', ...about, type, position: 0, resources: 0, removed: 0, bytes: 1 };
    yield { kind: 'acknowledged', ...about, type, position: 0, seconds: 0 };
  }
}

function answerOf(peer: string, position: number): SyncEvent[] {
  const about = { peer, streamId: `${peer}-1`, type: TYPE, position };
  return [
    { kind: 'sent', ...about, resources: AT_ONCE, removed: 0, bytes: 1 },
    { kind: 'acknowledged', ...about, seconds: 0 },
  ];
}

/** Bytes in use after a collection. */
function usedBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let round = 0; round < 3; round += 1) collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
