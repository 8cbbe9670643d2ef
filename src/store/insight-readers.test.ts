// The connection of the change feed listens to the channel of insights while somebody reads insights, and not else.
import { expect, it, vi } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { createLogger } from '../base/log.ts';
import { ChangeFeed } from './change-feed.ts';
import type { Database } from './database.ts';
import type { StoreChange } from './resource-store.ts';

class Listening {
  readonly clock = new ManualClock();
  /** The statements of each connection. */
  readonly connections: string[][] = [];
  /** Lets a connection answer LISTEN; rejects with an error. */
  answer: () => Promise<void> = () => Promise.resolve();
  readonly feed: ChangeFeed;
  publish: (payload: string) => void = () => undefined;
  disconnect: (reason: Error) => void = () => undefined;

  constructor() {
    const database: Pick<Database, 'clock' | 'listen'> = {
      clock: this.clock,
      listen: async (channel, onListening, onPayload, signal) => {
        const asked = [channel];
        this.connections.push(asked);
        this.publish = onPayload;
        const lost = new Promise<void>((resolve, reject) => {
          this.disconnect = reject;
          signal.addEventListener('abort', () => resolve());
        });
        const ask = async (text: string): Promise<void> => {
          asked.push(text);
          await this.answer();
        };
        const listening = onListening({ add: (name) => ask(`+${name}`), remove: (name) => ask(`-${name}`) });
        await Promise.race([lost, listening]);
        await lost;
      },
    };
    this.feed = new ChangeFeed(database as Database, createLogger('silent'));
  }

  /** Reads until the returned function is called. */
  read(types: readonly string[]): { readonly seen: StoreChange[]; readonly stop: () => Promise<void> } {
    const signal = new AbortController();
    const seen: StoreChange[] = [];
    const reading = (async () => {
      for await (const change of this.feed.changes(signal.signal, types)) seen.push(change);
    })();
    const stop = async (): Promise<void> => {
      signal.abort();
      await reading;
    };
    return { seen, stop };
  }
}

const ALL = { kind: 'all' };
const settled = vi.waitFor;

it('the feed listens to insights from their first reader to their last', async () => {
  const listening = new Listening();
  const policies = listening.read(['MeshTimeout', 'Zone']);
  await settled(() => expect(policies.seen).toEqual([ALL]));
  expect(listening.connections).toEqual([['meridian_resources']]);
  const [page, other] = [listening.read(['Zone', 'ZoneInsight']), listening.read(['DataplaneInsight'])];
  await settled(() => expect([page.seen, other.seen]).toEqual([[ALL], [ALL]]));
  expect(listening.connections).toEqual([['meridian_resources', '+meridian_insights']]);
  await page.stop();
  expect(listening.connections[0]).toHaveLength(2);
  await other.stop();
  expect(listening.connections[0]?.at(-1)).toBe('-meridian_insights');
  const again = listening.read(['ZoneInsight']);
  await settled(() => expect(again.seen).toEqual([ALL]));
  expect(listening.connections[0]?.at(-1)).toBe('+meridian_insights');
  expect(policies.seen).toEqual([ALL]);
  await again.stop();
  await policies.stop();
  await listening.feed.close();
});

it('the feed names everything to a reader of insights only when it listens to them, also on a new connection', async () => {
  const listening = new Listening();
  let isSilent = true;
  listening.answer = () => (isSilent ? new Promise(() => undefined) : Promise.resolve());
  const page = listening.read(['Zone', 'ZoneInsight']);
  await settled(() => expect(listening.connections).toEqual([['meridian_resources', '+meridian_insights']]));
  listening.publish('{"type":"Zone","keys":[["","east"]]}');
  expect(page.seen).toEqual([]);
  isSilent = false;
  listening.disconnect(new Error('ended'));
  await settled(async () => {
    await listening.clock.advance(2_000);
    expect(page.seen).toEqual([ALL]);
  });
  expect(listening.connections.at(-1)).toEqual(['meridian_resources', '+meridian_insights']);
  listening.publish('{"type":"Zone","keys":[["","east"]]}');
  await settled(() => expect(page.seen).toHaveLength(2));
  await page.stop();
  await listening.feed.close();
});

it('the feed connects again when its connection refuses to listen to insights', async () => {
  const listening = new Listening();
  const policies = listening.read(['Zone']);
  await settled(() => expect(policies.seen).toEqual([ALL]));
  listening.answer = () => Promise.reject(new Error('the database does not answer'));
  const page = listening.read(['ZoneInsight']);
  await settled(() => expect(policies.seen).toEqual([ALL, { kind: 'lost' }]));
  listening.answer = () => Promise.resolve();
  await settled(async () => {
    await listening.clock.advance(2_000);
    expect(listening.connections.at(-1)).toEqual(['meridian_resources', '+meridian_insights']);
    expect(page.seen.at(-1)).toEqual(ALL);
  });
  expect(policies.seen).toEqual([ALL, { kind: 'lost' }, ALL]);
  await page.stop();
  await policies.stop();
  await listening.feed.close();
});
