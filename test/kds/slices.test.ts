// A large response of a zone: global stores it in parts, answers after the last, and refuses resources that the zone may not have.
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import { FairScheduler } from '../../src/kds/admission/fair-scheduler.ts';
import type { SyncEvent } from '../../src/kds/protocol/sync-events.ts';
import { Receiver } from '../../src/kds/receiver/receiver.ts';
import { globalReceiveRules } from '../../src/kds/protocol/rules.ts';
import type { Write } from '../../src/store/resource-store.ts';
import { encodeKumaResource } from '../../src/resource/codec.ts';
import { typeOf } from '../../src/resource/type-registry.ts';
import { decodeDeltaRequest, encodeDeltaResponse, encodeResourceEntry, type DeltaRequest } from '../../src/wire/kds-messages.ts';
import { TinyStore } from '../support/tiny-store.ts';

const TYPE = 'MeshTimeout';
const names = (count: number): string[] => Array.from({ length: count }, (_, n) => `t${String(n)}`);

function message(added: readonly string[], removed: readonly string[] = [], padding = ''): Buffer {
  const entries = added.map((name) => {
    const spec = { targetRef: { kind: 'Mesh', name: padding } };
    const kumaResource = encodeKumaResource(typeOf(TYPE), { name, mesh: 'default', labels: {}, spec, status: undefined });
    return encodeResourceEntry({ name: `${name}.default`, version: '', kumaResource });
  });
  const gone = removed.map((name) => `${name}.default`);
  return encodeDeltaResponse({ typeUrl: TYPE, nonce: '1', controlPlane: 'east', entries, removed: gone });
}

type Received = {
  readonly store: TinyStore;
  readonly receiver: Receiver;
  readonly sent: DeltaRequest[];
  readonly events: SyncEvent[];
};

/** A global that receives from east; `batches` tells the size of each transaction. */
async function receive(store: TinyStore, { rows = 100_000, resourceBytes = 2 ** 21, resume = true } = {}): Promise<Received> {
  const sent: DeltaRequest[] = [];
  const events: SyncEvent[] = [];
  const rules = globalReceiveRules('east', { hashedNames: false });
  const receiver = new Receiver({
    ...{ zone: 'east', peer: 'east', streamId: 's', resume, maxMessageBytes: 10_000_000, log: createLogger('silent') },
    ...{ rules: { ...rules, types: [typeOf(TYPE)] }, store },
    pace: new FairScheduler().of('east'),
    quotas: { rows, resourceBytes },
    node: { version: '0', instanceId: 'i', config: '' },
    validate: () => [],
    send: (bytes) => void sent.push(decodeDeltaRequest(bytes)),
    observe: (event) => void events.push(event),
    clock: systemClock,
  });
  await receiver.start();
  return { store, receiver, sent, events };
}

const answers = (sent: readonly DeltaRequest[]): DeltaRequest[] => sent.filter(({ responseNonce }) => responseNonce !== '');
const stored = (store: TinyStore): string[] =>
  [...store.rows.values()].flatMap(({ type, name }) => (type === TYPE ? [name.replace('east.', '')] : [])).sort();

/** Calls back before each transaction. */
class WatchedStore extends TinyStore {
  readonly sizes: number[] = [];
  before: (batch: number) => void = () => undefined;

  override async writeBatch(writes: readonly Write[]): ReturnType<TinyStore['writeBatch']> {
    this.before(this.sizes.length);
    this.sizes.push(writes.length);
    return await super.writeBatch(writes);
  }
}

describe('a large response on global', () => {
  it('is stored in transactions of bounded size, and answered once, after the last', async () => {
    const store = new WatchedStore().withZones('east');
    const { receiver, sent } = await receive(store);
    store.before = () => expect(answers(sent)).toEqual([]);
    await receiver.take(message(names(1_100)));
    expect(Math.max(...store.sizes)).toBeLessThanOrEqual(250);
    expect(stored(store)).toHaveLength(1_100);
    expect(answers(sent)).toMatchObject([{ responseNonce: '1', errorDetail: null }]);
  });

  it('gets no answer when the store fails between two transactions, and is complete when it is sent again', async () => {
    const store = new WatchedStore().withZones('east');
    const { receiver, sent } = await receive(store);
    store.before = (batch) => {
      if (batch === 2) throw new Error('the process stops');
    };
    await expect(receiver.take(message(names(1_000)))).rejects.toThrow('the process stops');
    expect(answers(sent)).toEqual([]);
    store.before = () => undefined;
    const again = await receive(store);
    // The reconnect names the stored part, so the zone sends only the rest.
    expect(again.sent[0]?.initialResourceVersions.size).toBe(500);
    await again.receiver.take(message(names(1_000)));
    expect(stored(store)).toEqual(names(1_000).sort());
    expect(answers(again.sent)).toHaveLength(1);
  });

  it('removes rows after it has stored the others, also at the end of a full state', async () => {
    const store = new WatchedStore().withZones('east');
    const first = await receive(store, { resume: false });
    await first.receiver.take(message(names(600)));
    const second = await receive(store, { resume: false });
    const added = Array.from({ length: 600 }, (_, n) => `new${String(n)}`);
    let least = Infinity;
    store.before = () => (least = Math.min(least, stored(store).length));
    await second.receiver.take(message(added));
    expect(stored(store)).toEqual(added.sort());
    expect(least).toBe(600);
  });
});

describe('a zone over its quotas', () => {
  it('has the rows over the limit refused by name with the configuration key, and the others stored', async () => {
    const store = new TinyStore().withZones('east');
    const { receiver, sent, events } = await receive(store, { rows: 10 });
    await receiver.take(message(names(6)));
    await receiver.take(message(['a', 'b', 'c', 'd', 'e', 'f']));
    expect(stored(store)).toEqual([...names(6), 'a', 'b', 'c', 'd'].sort());
    const error = answers(sent).at(-1)?.errorDetail;
    expect(error?.message).toMatch(/the zone has 6 resources on global, which takes 10; .*multizone\.global\.kds\.quotas\.rows/);
    expect(error?.details).toHaveLength(2);
    expect(events).toContainEqual(expect.objectContaining({ kind: 'overQuota', peer: 'east', quota: 'rows' }));
    // Its deletions make room.
    await receiver.take(message([], ['t0', 't1']));
    await receiver.take(message(['e', 'f']));
    expect(stored(store)).toEqual([...names(6).slice(2), 'a', 'b', 'c', 'd', 'e', 'f'].sort());
    expect(answers(sent).at(-1)?.errorDetail).toBeNull();
  });

  it('has its existing rows counted', async () => {
    const store = new TinyStore().withZones('east');
    await (await receive(store)).receiver.take(message(names(9)));
    const { receiver } = await receive(store, { rows: 10 });
    await receiver.take(message(['a', 'b', 'c']));
    expect(stored(store)).toHaveLength(10);
  });

  it('has a resource that is too large refused by name before it is decoded, and the others stored', async () => {
    const store = new TinyStore().withZones('east');
    const { receiver, sent } = await receive(store, { resourceBytes: 65_536 });
    await receiver.take(message(['large'], [], 'x'.repeat(70_000)));
    await receiver.take(message(['small']));
    expect(stored(store)).toEqual(['small']);
    expect(answers(sent)[0]?.errorDetail?.message).toMatch(
      /bytes, global takes 65536; .*quotas\.resourceBytes on global: .*large"/,
    );
  });

  it('loses its stream at a response with more names than the limit, and nothing is changed', async () => {
    const store = new TinyStore().withZones('east');
    const { receiver, sent } = await receive(store, { rows: 100 });
    await expect(receiver.take(message([], names(101)))).rejects.toMatchObject({
      details: expect.stringMatching(/names more resources than the 100 .*quotas\.rows/) as string,
    });
    expect(answers(sent)).toEqual([]);
  });
});
