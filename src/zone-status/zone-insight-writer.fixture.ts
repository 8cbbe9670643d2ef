// A writer of ZoneInsights on a store in memory, and the events of one stream.
import { pino } from 'pino';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { TinyStore } from '../../test/support/tiny-store.ts';
import type { SyncEvent } from '../kds/protocol/sync-events.ts';
import type { JsonObject } from '../resource/types.ts';
import { ZoneInsightWriter, type ZoneInsightWriterOptions } from './zone-insight-writer.ts';

export const opened = {
  kind: 'opened',
  peer: 'east',
  streamId: 's1',
  stream: 'globalToZone',
  authorized: false,
} as const satisfies SyncEvent;
export const closed = {
  kind: 'closed',
  peer: 'east',
  streamId: 's1',
  stream: 'globalToZone',
  error: null,
} as const satisfies SyncEvent;
export const sent = {
  ...{ kind: 'sent', position: 1, peer: 'east', streamId: 's1', type: 'Mesh' },
  ...{ resources: 1, removed: 0, bytes: 100 },
} as const satisfies SyncEvent;

export function setUp(options: Partial<ZoneInsightWriterOptions> = {}) {
  const store = new TinyStore().withZones('east', 'west');
  const clock = new ManualClock();
  const keeper = { mode: 'global', instanceId: 'g', version: '2.14.0' } as const;
  const writer = new ZoneInsightWriter({ store, clock, keeper, log: pino({ level: 'silent' }), ...options });
  const row = () => store.get({ type: 'ZoneInsight', mesh: '', name: 'east' });
  const spec = async (): Promise<JsonObject> => (await row())?.spec ?? {};
  return { store, clock, writer, row, spec };
}
