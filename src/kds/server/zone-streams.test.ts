// The life of a stream of a zone, with calls that the test makes and a clock that it turns.
import { setImmediate } from 'node:timers/promises';
import { Metadata, type ServerDuplexStream } from '@grpc/grpc-js';
import { beforeEach, describe, expect, it, vi, type MockInstance } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { MeridianError } from '../../base/errors.ts';
import { createLogger } from '../../base/log.ts';
import { notedPermit } from '../../grpc/call-permit.fixture.ts';
import { Call } from './played-call.fixture.ts';
import type { StreamKind, SyncEvent } from '../protocol/sync-events.ts';
import type { ZonePass } from '../protocol/zone-access.ts';
import { AdmissionQueue } from '../admission/admission-queue.ts';
import { ZoneStreams } from './zone-streams.ts';
import { ANY_ZONE } from '../../resource/zone-profile.ts';

/** The headers with which a stream of this side opens. */
const OPENED = 'features meridian-v1 meridian-bundles meridian-in-step meridian-one-admin-stream';

let clock: ManualClock;
/** The used part of the heap: with more than 0.85 one zone enters at a time. */
let heap: number;
let entrance: AdmissionQueue;
let steps: string[];
let events: SyncEvent[];
let pass: ZonePass;
let refusal: string | null;
let gone: (zone: string) => void;
let accepted: (zone: string, storeId: string, reason: string) => void;
let revoke: (reason: string) => void;
let works: PromiseWithResolvers<void>[];
let streams: ZoneStreams;
let warn: MockInstance;

beforeEach(() => {
  clock = new ManualClock();
  [steps, events, works, refusal, heap] = [[], [], [], null, 0];
  entrance = new AdmissionQueue(clock, () => heap);
  const watch = (end: (reason: string) => void): (() => void) => {
    revoke = end;
    return () => void steps.push('unwatched');
  };
  pass = { ok: true, expiresAt: new Date(5), watch };
  const log = createLogger('silent');
  warn = vi.spyOn(log, 'warn');
  const permit = notedPermit(steps);
  streams = new ZoneStreams({
    connections: { permitOf: () => permit },
    entrance,
    admit: async (_, zone) => {
      steps.push(`admit ${zone}`);
      return pass;
    },
    zones: {
      ensure: async (zone) => {
        steps.push(`ensure ${zone}`);
        if (zone === 'No') throw new MeridianError('invalid', 'no name of a zone');
      },
      has: (zone) => zone === 'east',
      profileOf: () => ANY_ZONE,
      caughtUp: async () => undefined,
      watch: () => () => undefined,
      onChange: () => () => undefined,
      onGone: (listener) => {
        gone = listener;
        return () => void steps.push('stopped');
      },
    },
    stores: {
      admit: async () => refusal,
      onAccepted: (listener) => {
        accepted = listener;
        return () => void steps.push('stopped');
      },
    },
    ...{ quotas: { streams: 2 }, health: { pollInterval: 0, timeout: 0, closeStaleConn: false }, clock, log },
    observe: (event) => void events.push(event),
  });
});

/** Opens a stream; `works` has what ends its work. */
async function open(
  headers: Readonly<Record<string, string>> = { 'client-id': 'east' },
  kind: StreamKind = 'stats',
): Promise<Call> {
  const call = new Call(headers);
  const handle = streams.handler(kind, () => {
    const work = Promise.withResolvers<void>();
    works.push(work);
    return work.promise;
  });
  handle(call as unknown as ServerDuplexStream<Buffer, Buffer>);
  await settled();
  return call;
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await setImmediate();
}

const kinds = (): string[] => events.map(({ kind }) => kind);

describe('a stream', () => {
  it('is opened after the checks of its caller, announces this side, and ends with its work', async () => {
    const call = await open({ 'client-id': 'east', authorization: 'Bearer x' });
    expect(steps).toEqual(['permit', 'admit east', 'ensure east', 'given back', 'admitted']);
    expect(events).toMatchObject([
      { kind: 'opened', peer: 'east', stream: 'stats', alsoFor: [], authorized: true, tokenExpiresAt: new Date(5) },
    ]);
    works[0]?.resolve();
    await settled();
    expect(call.said).toEqual([OPENED, 'end']);
    expect(events[1]).toMatchObject({ kind: 'closed', peer: 'east', stream: 'stats', error: null });
    expect(steps.slice(-2)).toEqual(['unwatched', 'given back']);
  });

  it('without a token is not authorized', async () => {
    await open();
    expect(events).toMatchObject([{ kind: 'opened', authorized: false }]);
  });

  it('ends with the error of its work, and says it once', async () => {
    const call = await open();
    works[0]?.reject(new MeridianError('bad_request', 'no such type'));
    await settled();
    revoke('too late');
    expect(call.said).toEqual([OPENED, 'INVALID_ARGUMENT: no such type']);
    expect(events[1]).toMatchObject({ kind: 'closed', error: 'no such type' });
  });

  it('ends when its credentials are revoked, with that reason', async () => {
    const call = await open();
    revoke('the token was revoked');
    expect(call.said.at(-1)).toBe('UNAUTHENTICATED: the token was revoked');
    works[0]?.resolve();
    await settled();
    expect(events[1]).toMatchObject({ kind: 'closed' });
  });

  it('gets nothing more when its zone is deleted after its end', async () => {
    const [ended, other] = [await open(), await open()];
    works[0]?.resolve();
    await settled();
    const before = [...ended.said];
    gone('east');
    expect([ended.said, other.said.length]).toEqual([before, 2]);
  });

  it('says nothing to a caller that has gone', async () => {
    const call = await open();
    call.cancelled = true;
    revoke('the token was revoked');
    expect(call.said).toEqual([OPENED]);
  });

  it.each<[string, () => void, Readonly<Record<string, string>>, string]>([
    ['without a zone', () => undefined, {}, 'INVALID_ARGUMENT: "client-id" is not present in metadata'],
    [
      'without a good token',
      () => (pass = { ok: false, reason: 'no token' }),
      { 'client-id': 'east' },
      'UNAUTHENTICATED: no token',
    ],
    ['of an impossible name', () => undefined, { 'client-id': 'No' }, 'INTERNAL: stream failed: no name of a zone'],
    ['of another store', () => (refusal = 'another store'), { 'client-id': 'east' }, 'FAILED_PRECONDITION: another store'],
  ])('%s is refused, counted and logged once', async (_, prepare, headers, said) => {
    prepare();
    for (let time = 0; time < 2; time += 1) expect((await open(headers)).said).toEqual([said]);
    expect([works, steps.filter((step) => step === 'refused').length, warn.mock.calls.length]).toEqual([[], 2, 1]);
    expect(kinds().filter((kind) => kind !== 'turnedAway')).toEqual([]);
  });

  it('of a known zone is reported when it is turned away; a name that is no zone is not', async () => {
    pass = { ok: false, reason: 'expired' };
    await open({ 'client-id': 'east' });
    await open({ 'client-id': 'stranger' });
    expect(events).toEqual([{ kind: 'turnedAway', peer: 'east', reason: 'expired' }]);
    pass = { ok: true, expiresAt: null, watch: () => () => undefined };
    refusal = 'another store';
    await open({ 'client-id': 'east' });
    expect(events.at(-1)).toEqual({ kind: 'turnedAway', peer: 'east', reason: 'another store' });
  });

  it('over the quota of its zone and kind is refused after a second, without a permit', async () => {
    const first = await open();
    await open();
    steps.length = 0;
    const third = await open();
    expect([third.said, kinds()]).toEqual([[], ['opened', 'opened', 'overQuota']]);
    await clock.advance(999);
    await settled();
    expect(third.said).toEqual([]);
    await clock.advance(1);
    await settled();
    expect([third.said, steps]).toEqual([
      [expect.stringMatching(/^RESOURCE_EXHAUSTED: the zone has 2 open streams/)],
      ['refused'],
    ]);
    expect((await open({ 'client-id': 'west' })).said).toHaveLength(1);
    expect((await open({ 'client-id': 'east' }, 'clusters')).said).toHaveLength(1);
    works[0]?.resolve();
    await settled();
    expect(first.said.at(-1)).toBe('end');
    expect((await open()).said).toEqual([OPENED]);
  });

  it('over the quota is reported only for a caller whose token is good', async () => {
    const other = { 'client-id': 'east', authorization: 'Bearer other' };
    await open();
    await open();
    pass = { ok: false, reason: 'forged' };
    expect((await open(other)).said).toEqual(['UNAUTHENTICATED: forged']);
    expect(kinds()).toEqual(['opened', 'opened', 'turnedAway']);
    pass = { ok: true, expiresAt: null, watch: () => () => undefined };
    await open(other);
    expect(kinds().at(-1)).toBe('overQuota');
  });

  it('is counted when it opens: of many that ask together, two open', async () => {
    const calls = await Promise.all([open(), open(), open(), open()]);
    await clock.advance(1_000);
    await settled();
    expect(calls.map(({ said }) => said[0]?.split(':')[0])).toEqual([
      ...[OPENED, OPENED, 'RESOURCE_EXHAUSTED', 'RESOURCE_EXHAUSTED'],
    ]);
  });

  it('waits when its zone opens streams too often', async () => {
    for (let n = 0; n < 20; n += 1) {
      await open();
      works[n]?.resolve();
      await settled();
    }
    const late = await open();
    expect(late.said).toEqual([]);
    await clock.advance(500);
    await settled();
    expect(late.said).toEqual([OPENED]);
    const impatient = await open();
    impatient.cancelled = true;
    await clock.advance(1_000);
    await settled();
    expect([impatient.said, works.length, steps.includes('refused')]).toEqual([[], 21, false]);
  });
});

it('a stream whose token is revoked before it opens is refused with that reason', async () => {
  for (let n = 0; n < 20; n += 1) {
    await open();
    works[n]?.resolve();
    await settled();
  }
  const late = await open();
  revoke('the token was revoked');
  await clock.advance(500);
  await settled();
  expect(late.said).toEqual(['UNAUTHENTICATED: the token was revoked']);
  expect(warn.mock.calls.map(([about]) => (about as { reason: string }).reason)).toEqual(['the token was revoked']);
});

describe('a stream that waits until this process has time for its zone', () => {
  const west = { 'client-id': 'west' };

  beforeEach(async () => {
    heap = 0.9;
    await open();
    steps.length = 0;
  });

  it('has given its permit back, and opens when the zone before it has its first state', async () => {
    const call = await open(west);
    expect([call.said, steps, works.length]).toEqual([[], ['permit', 'admit west', 'ensure west', 'given back'], 1]);
    entrance.settled('east');
    await settled();
    expect([call.said, steps.at(-1), works.length]).toEqual([[OPENED], 'admitted', 2]);
    expect(events.at(-1)).toMatchObject({ kind: 'opened', peer: 'west' });
  });

  it('that ends leaves its place to the next one, and was never open', async () => {
    const [left, next] = [await open(west), await open({ 'client-id': 'north' })];
    gone('west');
    await settled();
    expect(left.said).toEqual(['UNAVAILABLE: the Zone "west" was removed; connect again to rejoin']);
    expect(entrance.waiting.zones).toBe(1);
    entrance.settled('east');
    await settled();
    expect([next.said, kinds()]).toEqual([[OPENED], ['opened', 'opened']]);
  });

  it('gives its place back when its work is done', async () => {
    const call = await open(west);
    works[0]?.resolve();
    await settled();
    expect(call.said).toEqual([OPENED]);
    works[1]?.resolve();
    await settled();
    expect(call.said).toEqual([OPENED, 'end']);
    expect((await open({ 'client-id': 'north' })).said).toEqual([OPENED]);
  });

  it('that this side has stopped admitting meanwhile is refused with that status', async () => {
    const call = await open(west);
    streams.refuse(new MeridianError('unavailable', 'stops soon'));
    entrance.settled('east');
    await settled();
    expect([call.said, works.length, kinds()]).toEqual([['UNAVAILABLE: stops soon'], 1, ['opened']]);
  });
});

describe('a side that admits no more streams', () => {
  it('refuses new ones at once, with its status and without a check, and keeps those that are open', async () => {
    const before = await open();
    steps.length = 0;
    streams.refuse(new MeridianError('unavailable', 'stops soon'));
    const after = await open({ 'client-id': 'west' });
    expect([before.said, after.said, steps]).toEqual([[OPENED], ['UNAVAILABLE: stops soon'], []]);
    expect([kinds(), warn.mock.calls.length]).toEqual([['opened'], 0]);
    works[0]?.resolve();
    await settled();
    expect(before.said.at(-1)).toBe('end');
  });

  it('may end the streams of some zones', async () => {
    const calls = [await open(), await open({ 'client-id': 'west' }), await open({ 'client-id': 'west' }, 'clusters')];
    streams.endZones(new Set(['west', 'north']), new MeridianError('unavailable', 'moved'));
    expect(calls.map(({ said }) => said.at(-1))).toEqual([...[OPENED, 'UNAVAILABLE: moved', 'UNAVAILABLE: moved']]);
  });
});

describe('the streams of a zone', () => {
  it('are one for questions of every kind where the zone says so', async () => {
    await open({ 'client-id': 'east', features: 'meridian-v1, meridian-one-admin-stream' }, 'configDump');
    await open({ 'client-id': 'east', features: 'meridian-v1' }, 'configDump');
    await open({ 'client-id': 'east', features: 'meridian-v1, meridian-one-admin-stream' }, 'globalToZone');
    expect(events.map((event) => event.kind === 'opened' && event.alsoFor)).toEqual([['stats', 'clusters'], [], []]);
  });

  it('end when its row is removed, those of others stay', async () => {
    const east = await open();
    entrance.settled('east');
    const west = await open({ 'client-id': 'west' });
    gone('east');
    expect(east.said.at(-1)).toBe('UNAVAILABLE: the Zone "east" was removed; connect again to rejoin');
    expect(west.said).toHaveLength(1);
  });

  it('end when another store speaks for it, those of that store and of other zones stay', async () => {
    const calls = [
      await open({ 'client-id': 'east', 'store-id': 'old' }),
      await open({ 'client-id': 'east', 'store-id': 'new' }),
    ];
    entrance.settled('east');
    calls.push(await open({ 'client-id': 'west', 'store-id': 'old' }));
    accepted('east', 'new', 'another store was accepted');
    expect(calls.map(({ said }) => said.at(-1))).toEqual([
      ...['FAILED_PRECONDITION: another store was accepted', OPENED, OPENED],
    ]);
  });

  it('end when this side stops, which then listens to nothing', async () => {
    const calls = [await open(), await open({ 'client-id': 'west' })];
    streams.close(new MeridianError('unavailable', 'stops'));
    expect(calls.map(({ said }) => said.at(-1))).toEqual(['UNAVAILABLE: stops', 'UNAVAILABLE: stops']);
    expect(steps.slice(-2)).toEqual(['stopped', 'stopped']);
  });
});

describe('a health check', () => {
  const headers = (zone: string): Metadata => new Call({ 'client-id': zone }).metadata;

  it('admits a caller that may open a stream', async () => {
    expect(await streams.check(headers('east'))).toMatchObject({ zone: 'east' });
    expect(steps).toEqual(['admit east', 'ensure east']);
    await expect(streams.check(headers('No'))).rejects.toThrow('no name of a zone');
    refusal = 'another store';
    await expect(streams.check(headers('east'))).rejects.toThrow('another store');
    pass = { ok: false, reason: 'no token' };
    await expect(streams.check(headers('east'))).rejects.toThrow('no token');
    await expect(streams.check(new Metadata())).rejects.toThrow('client-id');
  });

  it('that is refused is logged with a zone of a bounded length', () => {
    streams.logRefusal(headers('a'.repeat(101)), 'healthCheck', new MeridianError('forbidden', 'no'));
    expect(warn).toHaveBeenCalledWith({ zone: 'a'.repeat(100), stream: 'healthCheck', reason: 'no' }, 'a zone was refused');
  });
});
