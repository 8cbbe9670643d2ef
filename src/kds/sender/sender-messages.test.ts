// The messages of several streams, and the match of answers to responses.
import { expect, it, vi } from 'vitest';
import { systemClock } from '../../base/clock.ts';
import { RunQueue } from '../../base/run-queue.ts';
import { makeRow } from '../../../test/support/make-row.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { TinyStore } from '../../../test/support/tiny-store.ts';
import { createLogger } from '../../base/log.ts';
import type { Resource } from '../../resource/types.ts';
import { decodeDeltaResponse, type DeltaRequest } from '../../wire/kds-messages.ts';
import { encodeStruct } from '../../wire/struct.ts';
import { Changelog, type Source } from '../log/changelog.ts';
import { InitialSyncLimiter } from '../admission/initial-sync-limiter.ts';
import type { SyncEvent } from '../protocol/sync-events.ts';
import { globalSendRules } from '../protocol/rules.ts';
import { Sender } from './sender.ts';
import { nodeMetadata } from '../protocol/node.ts';
import { SharedMessages } from '../log/shared-messages.ts';

const TYPE = 'MeshTimeout';
const nodeWith = (features: string[]): DeltaRequest['node'] => ({ id: 'z', metadata: encodeStruct({ features }) });
const request: DeltaRequest = {
  ...{ node: nodeWith(['hash-suffix']), typeUrl: TYPE, subscribe: ['*'], unsubscribe: [] },
  ...{ initialResourceVersions: new Map(), responseNonce: '', errorDetail: null },
};

const rows = ['one', 'two'].map((name) => makeRow(TYPE, name, { spec: { a: 'x'.repeat(30_000) } }));

/** A source that never changes. */
function sourceOf(rows: readonly Resource[]): Source {
  return {
    list: ({ type }) => Promise.resolve(rows.filter((row) => row.type === type)),
    getMany: () => Promise.resolve([]),
    async *changes() {
      yield { kind: 'all' };
      await new Promise(() => undefined);
    },
    deletedMeshes: async () => [],
    mark: () => Promise.resolve(),
  };
}

type Stream = { readonly sender: Sender; readonly sent: Buffer[]; readonly events: SyncEvent[]; readonly changelog: Changelog };

async function streamsTo(
  zones: readonly string[],
  {
    stored = rows,
    source = sourceOf(stored),
    initialSyncLimiter = new InitialSyncLimiter(systemClock),
    hasRoom = (): boolean => true,
    clock = systemClock,
    queue = new RunQueue(clock),
  } = {},
): Promise<Stream[]> {
  const log = createLogger('silent');
  const changelog = new Changelog(source, globalSendRules(), log);
  void changelog.run(new AbortController().signal);
  await changelog.ready;
  const messages = new SharedMessages(systemClock);
  return zones.map((peer) => {
    const [sent, events]: [Buffer[], SyncEvent[]] = [[], []];
    const sender = new Sender({
      ...{ peer, streamId: peer, identifier: 'global', changelog, initialSyncLimiter },
      ...{ zones: null, log, maxMessageBytes: 100_000 },
      ...{ clock, queue, fail: () => undefined, observe: (event) => void events.push(event) },
      encode: (response) => messages.encode(response),
      send: (message) => void sent.push(message),
      hasRoom,
    });
    return { sender, sent, events, changelog };
  });
}

const kinds = ({ events }: Stream): string[] => events.map(({ kind }) => kind);

it('the sender shares bytes between zones that join together, and reports the node of each once', async () => {
  const streams = await streamsTo(['east', 'west']);
  for (const { sender } of streams) sender.handle(request);
  for (const { sender } of streams) sender.handle({ ...request, node: nodeWith(['hash-suffix']), typeUrl: 'MeshRetry' });
  await vi.waitFor(() => expect(streams.map(({ sent }) => sent.length)).toEqual([2, 2]));
  const [east, west] = streams.map(({ sent }) => sent);
  expect(decodeDeltaResponse(east?.[0] ?? Buffer.alloc(0)).resources).toHaveLength(2);
  expect(west).toEqual(east);
  expect(west?.[0]).toBe(east?.[0]);
  for (const stream of streams) expect(kinds(stream).filter((kind) => kind === 'node')).toHaveLength(1);
  for (const { sender } of streams) sender.close();
});

it('the sender takes a turn after an answer only if it has more to send', async () => {
  const queue = new RunQueue(systemClock);
  const add = vi.spyOn(queue, 'add');
  const [stream] = await streamsTo(['east'], { queue });
  if (stream === undefined) throw new Error('no stream');
  const { sender, sent } = stream;
  const answerNext = async (count: number, errorDetail: DeltaRequest['errorDetail']): Promise<number> => {
    await vi.waitFor(() => expect(sent).toHaveLength(count));
    add.mockClear();
    const { nonce: responseNonce } = decodeDeltaResponse(sent.at(-1) ?? Buffer.alloc(0));
    sender.handle({ ...request, subscribe: [], responseNonce, errorDetail });
    return add.mock.calls.length;
  };
  sender.handle(request);
  // Each half of the refused response is sent again.
  expect(await answerNext(1, { code: 3, message: 'one of two is bad', details: [] })).toBe(1);
  expect(await answerNext(2, null)).toBe(1);
  expect(await answerNext(3, null)).toBe(0);
  sender.close();
});

it('the sender reports the node of a peer again when it changes', async () => {
  const [stream] = await streamsTo(['east']);
  if (stream === undefined) throw new Error('no stream');
  for (const features of [['hash-suffix'], ['zone-token'], ['zone-token']])
    stream.sender.handle({ ...request, node: nodeWith(features) });
  const said = stream.events.flatMap((event) => (event.kind === 'node' ? [event.node.features] : []));
  expect(said).toEqual([['hash-suffix'], ['zone-token']]);
  stream.sender.close();
});

it('the sender takes a peer for one that resumes when its metadata says so, and not before', async () => {
  const [stream] = await streamsTo(['east']);
  if (stream === undefined) throw new Error('no stream');
  const said = [stream.sender.resumes];
  for (const node of [{ id: 'z' }, nodeWith([]), { id: 'z', metadata: encodeStruct({ 'meridian-resume': true }) }]) {
    stream.sender.handle({ ...request, node });
    said.push(stream.sender.resumes);
  }
  expect(said).toEqual([false, false, false, true]);
  stream.sender.close();
});

it.each<[what: string, resumes: boolean, known: number, stored: number, versions: string]>([
  ['names one version', true, 1, 1, 'some'],
  ['names none of one resource', true, 0, 1, 'none'],
  ['names none of a type without resources', true, 0, 0, 'unknown'],
  ['names one and does not resume', false, 1, 1, 'none'],
])('the sender says to the limiter of first states that a peer %s', async (_, resumes, known, stored, versions) => {
  const initialSyncLimiter = new InitialSyncLimiter(systemClock);
  const enter = vi.spyOn(initialSyncLimiter, 'enter');
  const [stream] = await streamsTo(['east'], { stored: rows.slice(0, stored), initialSyncLimiter });
  if (stream === undefined) throw new Error('no stream');
  const metadata = encodeStruct({ features: ['hash-suffix', 'meridian-v1'], 'meridian-resume': resumes });
  const initialResourceVersions = new Map([['a.default', '1'] as const].slice(0, known));
  stream.sender.handle({ ...request, node: { id: 'z', metadata }, initialResourceVersions });
  expect(enter.mock.calls.at(-1)?.[2]).toMatchObject({ versions });
  stream.sender.close();
});

it('the sender ignores an answer to a response from before a new subscription', async () => {
  const [stream] = await streamsTo(['east']);
  if (stream === undefined) throw new Error('no stream');
  const { sender, sent } = stream;
  sender.handle(request);
  await vi.waitFor(() => expect(sent).toHaveLength(1));
  sender.handle(request);
  await vi.waitFor(() => expect(sent).toHaveLength(2));
  const [before, after] = sent.map((message) => decodeDeltaResponse(message).nonce);
  expect(after).not.toBe(before);
  sender.handle({ ...request, node: { id: 'z' }, responseNonce: before ?? '' });
  expect(sender.behind()).toEqual([TYPE]);
  sender.handle({ ...request, node: { id: 'z' }, responseNonce: after ?? '' });
  expect(sender.behind()).toEqual([]);
  sender.close();
});

it('the sender withholds a resource too large for a message, and sends the others of its type', async () => {
  const nearly = makeRow(TYPE, 'nearly', { spec: { a: 'x'.repeat(99_400) } });
  const small = makeRow(TYPE, 'small', { spec: { a: 'x' } });
  const [stream] = await streamsTo(['east'], { stored: [nearly, small] });
  if (stream === undefined) throw new Error('no stream');
  const { sender, sent, events } = stream;
  sender.handle(request);
  await vi.waitFor(() => expect(sent).toHaveLength(1));
  expect(decodeDeltaResponse(sent[0] ?? Buffer.alloc(0)).resources).toHaveLength(1);
  const withheld = events.flatMap((event) => (event.kind === 'withheld' ? [...event.resources.values()] : []));
  expect(withheld).toEqual([expect.stringMatching(/^it has 99\d{3} bytes; a message to this peer takes 99488$/)]);
  sender.close();
});

it.each([
  ['an ACK', null],
  ['a NACK', { code: 0, message: 'no', details: [] }],
])('the sender reports to the limiter of first states that the peer answered with %s', async (_, errorDetail) => {
  const initialSyncLimiter = new InitialSyncLimiter(systemClock);
  const progress = vi.fn();
  const enter = initialSyncLimiter.enter.bind(initialSyncLimiter);
  vi.spyOn(initialSyncLimiter, 'enter').mockImplementation((peer, go) => ({ ...enter(peer, go), progress }));
  const [stream] = await streamsTo(['east'], { initialSyncLimiter });
  if (stream === undefined) throw new Error('no stream');
  const { sender, sent } = stream;
  sender.handle(request);
  await vi.waitFor(() => expect(sent).toHaveLength(1));
  expect(progress).not.toHaveBeenCalled();
  const { nonce } = decodeDeltaResponse(sent[0] ?? Buffer.alloc(0));
  sender.handle({ ...request, node: { id: 'z' }, responseNonce: nonce, errorDetail });
  expect(progress).toHaveBeenCalledOnce();
  sender.close();
});

it('a peer may subscribe to a hundred types that are not provided, and to each of them again', async () => {
  const [stream] = await streamsTo(['east']);
  if (stream === undefined) throw new Error('no stream');
  const subscribe = (type: string): void => stream.sender.handle({ ...request, typeUrl: type });
  for (let n = 0; n < 100; n += 1) subscribe(`Unknown${String(n)}`);
  expect(() => subscribe('Unknown100')).toThrow('too many types that this side does not provide');
  expect(() => subscribe('Unknown7')).not.toThrow();
  expect(() => subscribe(TYPE)).not.toThrow();
  stream.sender.close();
});

it('a response to a Meridian peer ends at half of the message limit, and at the bytes that the limiter gives', async () => {
  const stored = Array.from({ length: 6 }, (_, n) => makeRow(TYPE, `row-${String(n)}`, { spec: { a: 'x'.repeat(20_000) } }));
  const native = { ...request, node: nodeWith(['hash-suffix', 'meridian-v1']) };
  const sizes = async (limiterBytes: number): Promise<number> => {
    const initialSyncLimiter = new InitialSyncLimiter(systemClock);
    vi.spyOn(initialSyncLimiter, 'messageBytes', 'get').mockReturnValue(limiterBytes);
    const [stream] = await streamsTo(['east'], { stored, initialSyncLimiter });
    if (stream === undefined) throw new Error('no stream');
    stream.sender.handle(native);
    await vi.waitFor(() => expect(stream.sent).toHaveLength(1));
    stream.sender.close();
    return decodeDeltaResponse(stream.sent[0] ?? Buffer.alloc(0)).resources.length;
  };
  // A message takes 100,000 bytes, and a resource has 20,000.
  expect([await sizes(1_000_000), await sizes(30_000), await sizes(1)]).toEqual([3, 2, 1]);
});

it('the limiter learns the bytes of each message of a first state, and its end', async () => {
  const initialSyncLimiter = new InitialSyncLimiter(systemClock);
  const calls: string[] = [];
  const enter = initialSyncLimiter.enter.bind(initialSyncLimiter);
  vi.spyOn(initialSyncLimiter, 'enter').mockImplementation((peer, go) => {
    calls.push('enter');
    const permit = enter(peer, go);
    const leave = (): void => {
      calls.push('leave');
      permit.leave();
    };
    return { ...permit, leave, sent: (bytes) => void calls.push(`sent ${String(bytes)}`) };
  });
  const [stream] = await streamsTo(['east'], { initialSyncLimiter });
  if (stream === undefined) throw new Error('no stream');
  const { sender, sent } = stream;
  const acknowledge = (typeUrl: string): void => {
    const { nonce } = decodeDeltaResponse(sent.at(-1) ?? Buffer.alloc(0));
    sender.handle({ ...request, typeUrl, node: { id: 'z' }, responseNonce: nonce });
  };
  sender.handle(request);
  await vi.waitFor(() => expect(sent).toHaveLength(1));
  sender.handle({ ...request, typeUrl: 'MeshRetry' });
  await vi.waitFor(() => expect(sent).toHaveLength(2));
  expect(calls).toEqual(['enter', ...sent.map(({ length }) => `sent ${String(length)}`)]);
  acknowledge('MeshRetry');
  expect(calls).not.toContain('leave');
  const [first] = sent;
  const { nonce } = decodeDeltaResponse(first ?? Buffer.alloc(0));
  sender.handle({ ...request, node: { id: 'z' }, responseNonce: nonce });
  expect(calls.slice(3)).toEqual(['leave']);
  // A new subscription to a type asks for a first state again.
  sender.handle(request);
  expect(calls.slice(4)).toEqual(['leave', 'enter']);
  sender.close();
  expect(calls.at(-1)).toBe('leave');
});

it('a response of a type that is not provided is not reported: a peer may invent names', async () => {
  const [stream] = await streamsTo(['east']);
  if (stream === undefined) throw new Error('no stream');
  const { sender, sent } = stream;
  sender.handle({ ...request, typeUrl: 'Invented' });
  await vi.waitFor(() => expect(sent).toHaveLength(1));
  expect(kinds(stream)).toEqual(['node']);
  sender.handle(request);
  await vi.waitFor(() => expect(sent).toHaveLength(2));
  expect(stream.events.at(-1)).toEqual({
    ...{ kind: 'sent', peer: 'east', streamId: 'east', type: TYPE, position: 2 },
    ...{ resources: 2, removed: 0, bytes: sent[1]?.length },
  });
  sender.close();
});

it('the sender checks once a turn for sendable changes, for any number of requests and changes', async () => {
  const [stream] = await streamsTo(['east']);
  if (stream === undefined) throw new Error('no stream');
  const queue = vi.spyOn(globalThis, 'setImmediate');
  stream.sender.handle(request);
  stream.sender.handle({ ...request, typeUrl: 'MeshRetry' });
  stream.sender.drained();
  expect(queue).toHaveBeenCalledOnce();
  queue.mockRestore();
  await vi.waitFor(() => expect(stream.sent).toHaveLength(2));
  stream.sender.close();
});

it('the sender keeps changes for a full stream, and sends them when the stream takes messages again', async () => {
  let hasRoom = false;
  const [stream] = await streamsTo(['east'], { hasRoom: () => hasRoom });
  if (stream === undefined) throw new Error('no stream');
  const { sender, sent } = stream;
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
  };
  sender.handle(request);
  sender.handle({ ...request, typeUrl: 'MeshRetry' });
  await settle();
  sender.drained();
  await settle();
  expect(sent).toEqual([]);
  hasRoom = true;
  sender.drained();
  await settle();
  expect(sent.map((message) => decodeDeltaResponse(message).typeUrl)).toEqual([TYPE, 'MeshRetry']);
  sender.close();
});

it('the lag of a peer begins with the oldest change that it has not confirmed', async () => {
  const clock = new ManualClock();
  const [stream] = await streamsTo(['east'], { clock });
  if (stream === undefined) throw new Error('no stream');
  const { sender } = stream;
  expect(sender.lag()).toBeNull();
  for (const typeUrl of [TYPE, 'MeshRetry', TYPE]) {
    sender.handle({ ...request, typeUrl });
    await clock.advance(1_000);
  }
  // The second subscription to the type confirms nothing of what the first one sent.
  expect(sender.lag()).toEqual({ since: new Date(clock.now().getTime() - 3_000), types: [TYPE, 'MeshRetry'] });
  sender.close();
});

it('a peer that does not resume gets everything, for any versions that it names', async () => {
  const [stranger, resuming] = await streamsTo(['east', 'west'], { stored: [] });
  if (stranger === undefined || resuming === undefined) throw new Error('no stream');
  const initialResourceVersions = new Map([['lost.default', 'v']]);
  stranger.sender.handle({ ...request, initialResourceVersions });
  resuming.sender.handle({ ...request, initialResourceVersions, node: { id: 'west', metadata: nodeMetadata({ version: '0', instanceId: 'i', config: '' }, true) } }); // oxfmt-ignore
  await vi.waitFor(() => expect([stranger.sent.length, resuming.sent.length]).toEqual([1, 1]));
  const removed = [stranger, resuming].map(
    ({ sent: [message = Buffer.alloc(0)] }) => decodeDeltaResponse(message).removedResources,
  );
  expect(removed).toEqual([[], ['lost.default']]);
  for (const { sender } of [stranger, resuming]) sender.close();
});

it('the sender is ready when its changelog has every change that is committed', async () => {
  const marked = Promise.withResolvers<void>();
  const [stream] = await streamsTo(['east'], { source: { ...sourceOf(rows), mark: () => marked.promise } });
  if (stream === undefined) throw new Error('no stream');
  const ready = stream.sender.ready();
  marked.reject(new Error('the store does not answer'));
  await expect(ready).rejects.toThrow('the store does not answer');
  stream.sender.close();
});

it('the sender reads only the meshes of the reported resources from its store', async () => {
  const asked: string[][] = [];
  const source: Source = {
    ...sourceOf(rows),
    getMany: async (keys) => {
      asked.push(keys.map(({ name }) => name));
      return [];
    },
  };
  const [stream] = await streamsTo(['east'], { source });
  if (stream === undefined) throw new Error('no stream');
  const { sender } = stream;
  const versions = (...names: string[]): Map<string, string> => new Map(names.map((name) => [name, 'v']));
  await sender.prepare(request);
  await sender.prepare({ ...request, responseNonce: '1', initialResourceVersions: versions('a.lost') });
  expect(asked).toEqual([]);
  await sender.prepare({ ...request, initialResourceVersions: versions('a.lost') });
  await sender.prepare({ ...request, initialResourceVersions: versions('a.one', 'b.two', 'c.one') });
  expect(asked).toEqual([['lost'], ['one', 'two']]);
  sender.close();
});

it('a Mesh that is created while the sender asks the store for it is not unknown', async () => {
  const store = new TinyStore();
  const answered = Promise.withResolvers<undefined>();
  vi.spyOn(store, 'deletedMeshes').mockImplementation(async () => {
    await answered.promise;
    return [];
  });
  const [stream] = await streamsTo(['z'], { source: store });
  if (stream === undefined) throw new Error('no stream');
  const { sender, events, changelog } = stream;
  const metadata = nodeMetadata({ version: '1', instanceId: 'i', config: '' }, true);
  const subscription = { ...request, node: { id: 'z', metadata }, initialResourceVersions: new Map([['slow.shop', 'v']]) };
  const prepared = sender.prepare(subscription);
  await store.write({ op: 'create', key: { type: 'Mesh', mesh: '', name: 'shop' }, labels: {}, spec: {} });
  await changelog.caughtUp();
  answered.resolve(undefined);
  await prepared;
  sender.handle(subscription);
  await vi.waitFor(() => expect(events).toContainEqual(expect.objectContaining({ kind: 'sent', type: TYPE, removed: 1 })));
  expect(events.filter(({ kind }) => kind === 'withheld')).toEqual([]);
  sender.close();
});
