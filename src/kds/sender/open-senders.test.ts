// The answers of a stream about a zone and a resource, compared with what the zone has acknowledged.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { TinyStore } from '../../../test/support/tiny-store.ts';
import { systemClock } from '../../base/clock.ts';
import { createLogger } from '../../base/log.ts';
import { decodeDeltaResponse, type DeltaRequest } from '../../wire/kds-messages.ts';
import { encodeStruct } from '../../wire/struct.ts';
import { Changelog } from '../log/changelog.ts';
import { InitialSyncLimiter } from '../admission/initial-sync-limiter.ts';
import { isBehind, OpenSenders } from './open-senders.ts';
import { globalSendRules } from '../protocol/rules.ts';
import { Sender } from './sender.ts';

const TYPE = 'MeshTimeout';
const slow = { type: TYPE, mesh: 'default', name: 'slow' };
const log = createLogger('silent');

let store: TinyStore;
let senders: OpenSenders;
let sender: Sender;
let sent: Buffer[];
let stop: AbortController;
let running: Promise<void>;
let closed: () => void;

beforeEach(async () => {
  stop = new AbortController();
  store = new TinyStore();
  sent = [];
  const changelog = new Changelog(store, globalSendRules(), log);
  running = changelog.run(stop.signal);
  await changelog.ready;
  sender = new Sender({
    ...{ peer: 'east', streamId: 's', identifier: 'global', changelog, initialSyncLimiter: new InitialSyncLimiter(systemClock) },
    ...{ zones: null, maxMessageBytes: 100_000, log, clock: systemClock, fail: () => undefined, observe: () => undefined },
    send: (message) => void sent.push(message),
  });
  senders = new OpenSenders();
  closed = senders.add('east', sender);
  sender.handle(request());
});

afterEach(async () => {
  sender.close();
  stop.abort();
  await running;
});

function request(answer: Partial<DeltaRequest> = {}): DeltaRequest {
  const metadata = encodeStruct({ features: ['hash-suffix', 'meridian-v1'] });
  return {
    ...{ node: { id: 'east', metadata }, typeUrl: TYPE, subscribe: ['*'], unsubscribe: [] },
    ...{ initialResourceVersions: new Map<string, string>(), responseNonce: '', errorDetail: null },
    ...answer,
  };
}

async function answerNext(count: number, errorDetail: DeltaRequest['errorDetail'] = null): Promise<void> {
  await vi.waitFor(() => expect(sent).toHaveLength(count));
  const { nonce } = decodeDeltaResponse(sent.at(-1) ?? Buffer.alloc(0));
  sender.handle(request({ responseNonce: nonce, errorDetail }));
}

const stateOf = async (): Promise<string | undefined> => (await senders.deliveryOf('east', slow))?.state;

it('a resource waits until the zone has confirmed it', async () => {
  await answerNext(1);
  expect(senders.lagOf('east')).toBeNull();
  await store.write({ op: 'create', key: slow, labels: {}, spec: { to: [] } });
  expect(await stateOf()).toBe('pending');
  expect(senders.lagOf('east')).toMatchObject({ types: [TYPE] });
  await answerNext(2);
  expect(await senders.deliveryOf('east', slow)).toEqual({
    state: 'acknowledged',
    reason: null,
    since: expect.any(Date) as Date,
  });
  expect(senders.lagOf('east')).toBeNull();
});

it('a resource that the zone refuses is no resource that it has', async () => {
  await store.write({ op: 'create', key: slow, labels: {}, spec: { to: [] } });
  await answerNext(1);
  await store.write({ op: 'create', key: { ...slow, name: 'other' }, labels: {}, spec: { to: [] } });
  await answerNext(2, { code: 3, message: 'too slow', details: [] });
  expect(await senders.deliveryOf('east', { ...slow, name: 'other' })).toEqual({
    state: 'refused',
    reason: 'too slow',
    since: null,
  });
  expect(await stateOf()).toBe('acknowledged');
});

it('a resource that does not fit a message is withheld', async () => {
  await store.write({ op: 'create', key: slow, labels: {}, spec: { to: [], text: 'x'.repeat(200_000) } });
  await answerNext(1);
  expect(await stateOf()).toBe('withheld');
});

it('a zone without a stream to this process has no answer', async () => {
  expect(senders.lagOf('west')).toBeUndefined();
  expect(await senders.deliveryOf('west', slow)).toBeUndefined();
  closed();
  expect(senders.lagOf('east')).toBeUndefined();
});

it('the progress of a zone counts what it has not confirmed, once for each resource, and its removals', async () => {
  await answerNext(1);
  const progress = (): unknown => senders.progressOf('east');
  const at = expect.any(Date) as Date;
  expect(progress()).toEqual([{ type: TYPE, behind: 0, since: null, confirmedAt: at, refused: 0, withheld: 0 }]);
  const put = (name: string, to: string[]) => store.write({ op: 'put', key: { ...slow, name }, labels: {}, spec: { to } });
  for (const to of [[], ['x']]) await put('slow', to);
  await put('other', []);
  await senders.caughtUp();
  expect(progress()).toMatchObject([{ behind: 2, since: at }]);
  await answerNext(2, { code: 3, message: 'too slow', details: [] });
  expect(progress()).toMatchObject([{ behind: 0, since: null, refused: 2 }]);
  await store.write({ op: 'delete', key: slow });
  await senders.caughtUp();
  expect(progress()).toMatchObject([{ behind: 1, refused: 2 }]);
  expect(senders.progressOf('west')).toBeUndefined();
});

it('the time without an acceptance is that of the newest stream of a zone, for each type of which something was sent', async () => {
  const unaccepted = (): [string, string, boolean][] =>
    [...senders.unaccepted()].map(({ zone, type, ms }) => [zone, type, ms > 0]);
  await vi.waitFor(() => expect(unaccepted()).toEqual([['east', TYPE, true]]));
  await answerNext(1);
  expect(unaccepted()).toEqual([['east', TYPE, false]]);
  const newer = { lag: () => null, unaccepted: () => [{ type: 'Mesh', ms: 7 }], progress: () => [], features: null };
  const newerClosed = senders.add('east', {
    ...newer,
    ready: async () => undefined,
    deliveryNow: () => ({ state: 'pending', reason: null, since: null }),
  });
  expect(unaccepted()).toEqual([['east', 'Mesh', true]]);
  newerClosed();
  closed();
  expect(unaccepted()).toEqual([]);
});

it('a zone without a global has nothing to confirm', () => {
  const alone = new OpenSenders({ isAlone: true });
  expect([alone.lagOf('east'), isBehind(alone.lagOf('east'))]).toEqual(['alone', false]);
});
