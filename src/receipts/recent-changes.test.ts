import { fc } from '../../test/support/property.ts';
import { describe, expect, it } from 'vitest';
import type { LoggedChange } from '../kds/log/changelog.ts';
import { namedResources } from '../kds/protocol/refusal-report.ts';
import type { SyncEvent } from '../kds/protocol/sync-events.ts';
import { encodeDelay, decodeDelay } from './delay-codec.ts';
import type { Change } from './kept-change.ts';
import { MAX_CHANGES, RecentChanges } from './recent-changes.ts';
import { ANY_ZONE } from '../resource/zone-profile.ts';

const START = Date.UTC(2026, 0, 1);
const TYPE = 'MeshTimeout';
const NONE = namedResources(new Map());

function logged(position: number, more: Partial<LoggedChange> = {}): LoggedChange {
  const name = more.name ?? `timeout-${String(position)}`;
  return {
    ...{ type: TYPE, mesh: 'default', name, position, version: 0, committedAt: new Date(START), isRemoval: false },
    ...{ wireName: `${name}.default`, visibility: { to: 'all' }, isNew: false, ...more },
  };
}

/** Events of the stream of one zone. */
function streamOf(peer: string, streamId = `${peer}-1`) {
  const about = { peer, streamId, type: TYPE };
  return {
    opened: { kind: 'opened', peer, streamId, stream: 'globalToZone', authorized: true } as SyncEvent,
    closed: { kind: 'closed', peer, streamId, stream: 'globalToZone', error: null } as SyncEvent,
    sent: (position: number): SyncEvent => ({ kind: 'sent', ...about, position, resources: 1, removed: 0, bytes: 1 }),
    acknowledged: (position: number, again: string[] = []): SyncEvent => ({
      ...{ kind: 'acknowledged', ...about, position, again, seconds: 0 },
    }),
    passed: (position: number): SyncEvent => ({ kind: 'passed', ...about, position }),
    rejected: (position: number): SyncEvent => ({ kind: 'rejected', ...about, position, fault: 'user', message: 'no' }),
    refused: (names: Record<string, string>, solved: string[] = []): SyncEvent => {
      const changed = new Map(Object.entries(names));
      return { kind: 'refused', ...about, refused: namedResources(changed), suspects: NONE, changed, solved };
    },
    withheld: (names: Record<string, string>, all: string | null = null): SyncEvent => ({
      ...{ kind: 'withheld', ...about },
      ...{ resources: new Map(Object.entries(names)), all, count: Object.keys(names).length },
    }),
  };
}

function setUp(...zones: string[]) {
  const changes = new RecentChanges('globalToZone');
  const tell = (event: SyncEvent, ms: number): boolean => changes.observe(event, START + ms);
  for (const zone of zones) tell(streamOf(zone).opened, 0);
  const stateOf = (change: Change, zone: string): string => changes.delivery(change, zone).state;
  return { changes, tell, stateOf };
}

describe('milliseconds in a byte', () => {
  it.each([0, -5, 0.4, 1])('%d is one millisecond', (ms) => expect(decodeDelay(encodeDelay(ms))).toBe(1));
  it.each([599_000, 600_000, 9e9])('%d is about the largest time', (ms) =>
    expect(decodeDelay(encodeDelay(ms))).toBeGreaterThan(580_000),
  );
  it.each([0, 251, 255])('the byte %d has no time', (byte) => expect(decodeDelay(byte)).toBeNull());
  it('a time differs by at most three percent and half a millisecond', () =>
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 600_000 }), (ms) => {
        const read = decodeDelay(encodeDelay(ms)) ?? NaN;
        expect(Math.abs(read - ms)).toBeLessThanOrEqual(ms * 0.03 + 0.5);
      }),
    ));
});

describe('the recent changes', () => {
  it('say how many milliseconds after the commit each zone was sent a change and acknowledged it', () => {
    const { changes, tell } = setUp('east', 'west');
    const change = changes.append(logged(1), START + 2);
    tell(streamOf('east').sent(1), 4);
    tell(streamOf('east').acknowledged(1), 10);
    tell(streamOf('west').sent(1), 4);
    expect(changes.delivery(change, 'east')).toEqual({ state: 'acknowledged', sentMs: 4, acknowledgedMs: 10, reason: null });
    expect(changes.delivery(change, 'west')).toEqual({ state: 'sent', sentMs: 4, acknowledgedMs: null, reason: null });
    expect(changes.delivery(change, 'north').state).toBe('away');
  });

  it('one acknowledgement covers all changes up to its position, and none after it', () => {
    const { changes, tell, stateOf } = setUp('east');
    const [first, second, third] = [1, 2, 3].map((position) => changes.append(logged(position), START)) as [
      Change,
      Change,
      Change,
    ];
    tell(streamOf('east').acknowledged(2), 5);
    expect([first, second, third].map((change) => stateOf(change, 'east'))).toEqual(['acknowledged', 'acknowledged', 'pending']);
  });

  it('a change that was replaced before it was sent is acknowledged with the change that replaced it', () => {
    const { changes, tell, stateOf } = setUp('east');
    const first = changes.append(logged(1, { name: 'a', wireName: 'a.default' }), START);
    const other = changes.append(logged(2), START);
    const second = changes.append(logged(3, { name: 'a', wireName: 'a.default', version: 1 }), START);
    tell(streamOf('east').acknowledged(2), 5);
    expect([first, other, second].map((change) => stateOf(change, 'east'))).toEqual(['pending', 'acknowledged', 'pending']);
    tell(streamOf('east').acknowledged(3), 9);
    expect(changes.delivery(first, 'east').acknowledgedMs).toBe(9);
    expect(changes.delivery(other, 'east').acknowledgedMs).toBe(5);
  });

  it('a first acknowledgement keeps its time when a later stream repeats it', () => {
    const { changes, tell } = setUp('east');
    const change = changes.append(logged(1), START);
    tell(streamOf('east').acknowledged(1), 5);
    tell(streamOf('east').closed, 6);
    expect(changes.delivery(change, 'east').state).toBe('acknowledged');
    tell(streamOf('east', 'east-2').opened, 100);
    tell(streamOf('east', 'east-2').acknowledged(1), 200);
    expect(changes.delivery(change, 'east').acknowledgedMs).toBe(5);
  });

  it('a zone without a stream is away, and has the change when it comes back', () => {
    const { changes, tell, stateOf } = setUp('east');
    tell(streamOf('east').acknowledged(7), 1);
    tell(streamOf('east').closed, 2);
    const change = changes.append(logged(8), START);
    expect(stateOf(change, 'east')).toBe('away');
    tell(streamOf('east', 'east-2').opened, 3);
    expect(stateOf(change, 'east')).toBe('pending');
    tell(streamOf('east', 'east-2').acknowledged(8), 4);
    expect(stateOf(change, 'east')).toBe('acknowledged');
  });

  it('a stream of another kind is no stream for changes', () => {
    const { changes, tell, stateOf } = setUp('east');
    const change = changes.append(logged(1), START);
    tell(streamOf('east').closed, 1);
    expect(tell({ kind: 'opened', peer: 'east', streamId: 's', stream: 'zoneToGlobal', authorized: true }, 2)).toBe(false);
    expect(stateOf(change, 'east')).toBe('away');
  });

  it('a refused resource has the reason of the zone, until a retry is accepted', () => {
    const { changes, tell, stateOf } = setUp('east');
    const [good, bad] = [changes.append(logged(1), START), changes.append(logged(2), START)];
    const east = streamOf('east');
    tell(east.refused({ [bad.wireName]: 'unknown field' }), 5);
    tell(east.rejected(2), 5);
    expect(stateOf(good, 'east')).toBe('acknowledged');
    expect(changes.delivery(bad, 'east')).toMatchObject({ state: 'refused', reason: 'unknown field' });
    tell(east.refused({}, [bad.wireName]), 50);
    tell(east.acknowledged(2, [bad.wireName]), 50);
    expect(changes.delivery(bad, 'east')).toMatchObject({
      state: 'acknowledged',
      acknowledgedMs: decodeDelay(encodeDelay(50)),
    });
  });

  it.each([
    ['by name', { names: true, all: null }],
    ['with its type', { names: false, all: 'too large' }],
  ])('a resource that is withheld %s is not acknowledged with the others', (_, { names, all }) => {
    const { changes, tell, stateOf } = setUp('east');
    const [one, other] = [changes.append(logged(1), START), changes.append(logged(2), START)];
    tell(streamOf('east').withheld(names ? { [one.wireName]: 'too large' } : {}, all), 1);
    tell(streamOf('east').passed(2), 2);
    expect(changes.delivery(one, 'east')).toMatchObject({ state: 'withheld', reason: 'too large' });
    expect(stateOf(other, 'east')).toBe(names ? 'acknowledged' : 'withheld');
  });

  it('a change that no rule sends to a zone is hidden from it', () => {
    const { changes, stateOf } = setUp('east', 'west');
    const change = changes.append(logged(1, { visibility: { to: 'others', zone: 'east' } }), START);
    expect(['east', 'west'].map((zone) => stateOf(change, zone))).toEqual(['hidden', 'pending']);
    changes.profileOf = (zone) => ({ ...ANY_ZONE, isEnabled: zone !== 'east' });
    expect(changes.delivery(change, 'west')).toMatchObject({
      ...{ state: 'hidden', reason: 'zone east, from which it comes, is disabled' },
    });
    changes.profileOf = () => ANY_ZONE;
    const needs = changes.append(logged(2, { visibility: { to: 'all', feature: 'f' } }), START);
    expect(stateOf(needs, 'west')).toBe('hidden');
  });

  it('a row is found by its version: the oldest change that has it', () => {
    const { changes } = setUp('east');
    const at = { name: 'a', wireName: 'a.default' };
    const made = [2, 4, 5].map((version, index) => changes.append(logged(index + 1, { ...at, version }), START));
    const key = { type: TYPE, mesh: 'default', name: 'a' };
    expect([null, 0, 2, 3, 5].map((version) => changes.ofRow(key, version)?.id)).toEqual(
      [2, 0, 0, 1, 2].map((index) => made[index]?.id),
    );
    expect(changes.ofRow(key, 6)).toBeUndefined();
    const removal = changes.append(logged(4, { ...at, version: null, isRemoval: true }), START);
    expect(changes.ofRow(key, 6)).toBe(removal);
    expect(changes.ofRow({ ...key, mesh: 'other' })).toBeUndefined();
  });

  it.each([
    ['was deleted and created again', [3, null, 0, 1]],
    ['was created again before the log saw that it was deleted', [3, 0, 1]],
    ['was created again with the version that it had', [1, 1]],
  ])('a row that %s is found in its present life alone', (_, versions) => {
    const { changes } = setUp('east');
    const made = versions.map((version, index) =>
      changes.append(logged(index + 1, { name: 'a', wireName: 'a.default', version, isRemoval: version === null }), START),
    );
    const find = (version: number): Change | undefined => changes.ofRow({ type: TYPE, mesh: 'default', name: 'a' }, version);
    expect(find(0)).toBe(made.find(({ version }, at) => at > 0 && version !== null));
    expect(find(1)).toBe(made.at(-1));
    // A later version without a change: what is in the log counts, unless it was removed.
    const last = made.at(-1);
    expect(find(3)).toBe(last?.isRemoval === true ? last : undefined);
  });

  it('of a large fleet keep who has acknowledged them when their times are dropped, also when the resource changes again', () => {
    const zones = Array.from({ length: 10_000 }, (_, n) => `z${String(n)}`);
    const { changes, tell, stateOf } = setUp(...zones, 'east', 'west');
    const [east, west] = [streamOf('east'), streamOf('west')];
    const old = changes.append(logged(1, { name: 'slow', version: 1 }), START);
    tell(east.sent(1), 1);
    tell(east.acknowledged(1), 5);
    for (let position = 2; position <= 300; position += 1) changes.append(logged(position), START + position);
    expect([old.times, stateOf(old, 'east'), stateOf(old, 'west')]).toEqual([null, 'acknowledged', 'pending']);
    tell(west.sent(300), 400);
    tell(west.acknowledged(300), 410);
    changes.append(logged(301, { name: 'slow', version: 2 }), START + 500);
    expect([stateOf(old, 'east'), stateOf(old, 'west'), stateOf(old, 'z1')]).toEqual(['acknowledged', 'acknowledged', 'pending']);
  });

  it('an acknowledgement costs the changes that it acknowledges, and no older ones', () => {
    const { changes, tell } = setUp('east');
    const old = Array.from({ length: 50 }, (_, at) => changes.append(logged(at + 1), START));
    const east = streamOf('east');
    tell(east.sent(50), 1);
    tell(east.acknowledged(50), 2);
    let looks = 0;
    for (const change of old) {
      const { history } = change;
      const get = (): Change['history'] => {
        looks += 1;
        return history;
      };
      Object.defineProperty(change, 'history', { get });
    }
    const change = changes.append(logged(51), START);
    tell(east.sent(51), 3);
    tell(east.acknowledged(51), 4);
    expect([looks, changes.delivery(change, 'east').acknowledgedMs]).toEqual([0, 4]);
  });

  it('a zone that was never seen is away, and the zone of the resource does not get it back', () => {
    const { changes, stateOf } = setUp();
    const change = changes.append(logged(1, { visibility: { to: 'others', zone: 'east' } }), START);
    expect(['east', 'west'].map((zone) => stateOf(change, zone))).toEqual(['hidden', 'away']);
  });

  it('a zone that joins late has room for its times beside those of many others', () => {
    const zones = Array.from({ length: 40 }, (_, index) => `zone-${String(index)}`);
    const { changes, tell } = setUp('first');
    const change = changes.append(logged(1), START);
    tell(streamOf('first').acknowledged(1), 3);
    for (const zone of zones) tell(streamOf(zone).opened, 4);
    for (const zone of zones) tell(streamOf(zone).acknowledged(1), 5);
    const times = ['first', ...zones].map((zone) => changes.delivery(change, zone).acknowledgedMs);
    expect(times).toEqual([3, ...zones.map(() => 5)]);
  });

  it('only the last changes are kept', () => {
    const { changes, tell, stateOf } = setUp('east');
    const first = changes.append(logged(1), START);
    for (let position = 2; position <= MAX_CHANGES + 1; position += 1) changes.append(logged(position), START);
    expect(changes.newest()).toHaveLength(MAX_CHANGES);
    expect(changes.find(first.id)).toBeUndefined();
    tell(streamOf('east').acknowledged(MAX_CHANGES + 1), 1);
    expect(changes.newest().every((change) => stateOf(change, 'east') === 'acknowledged')).toBe(true);
  });

  it('in a large fleet the oldest changes keep their state and lose their times', () => {
    const zones = Array.from({ length: 10_000 }, (_, index) => `zone-${String(index)}`);
    const { changes, tell } = setUp(...zones);
    for (let position = 1; position <= 400; position += 1) changes.append(logged(position), START);
    for (const zone of zones.slice(0, 2)) tell(streamOf(zone).acknowledged(400), 7);
    const bytes = changes.newest().reduce((sum, { times }) => sum + (times === null ? 0 : times.sent.length * 2), 0);
    expect(bytes).toBeLessThanOrEqual(5_000_000);
    const [oldest, newest] = [changes.newest().at(-1), changes.newest()[0]] as [Change, Change];
    expect(changes.delivery(oldest, 'zone-1')).toMatchObject({ state: 'acknowledged', acknowledgedMs: null });
    expect(changes.delivery(newest, 'zone-1')).toMatchObject({ state: 'acknowledged', acknowledgedMs: 7 });
    expect(changes.delivery(oldest, 'zone-2').state).toBe('pending');
  });

  it('a deleted zone leaves its place to the next', () => {
    const { changes, tell, stateOf } = setUp('east');
    const change = changes.append(logged(1), START);
    tell(streamOf('east').acknowledged(1), 1);
    changes.forget('east');
    expect(stateOf(change, 'east')).toBe('acknowledged');
    tell(streamOf('east').closed, 2);
    changes.forget('east');
    tell(streamOf('west').opened, 3);
    expect(stateOf(change, 'west')).toBe('pending');
  });

  it('times count from the commit, and from here where the clock of the writer is ahead', () => {
    const { changes, tell } = setUp('east');
    const ahead = changes.append(logged(1, { committedAt: new Date(START + 60_000) }), START);
    const removal = changes.append(logged(2, { committedAt: null, version: null, isRemoval: true }), START + 10);
    tell(streamOf('east').acknowledged(2), 20);
    expect(changes.delivery(ahead, 'east').acknowledgedMs).toBe(20);
    expect(changes.delivery(removal, 'east').acknowledgedMs).toBe(10);
  });
});

describe('the tally of a change', () => {
  it('counts the peers that were sent it, have acknowledged it, or refuse it', () => {
    const { changes, tell } = setUp('east', 'west', 'north');
    const [east, west, north] = [streamOf('east'), streamOf('west'), streamOf('north')];
    const change = changes.append(logged(1), START);
    for (const { sent } of [east, west, north]) tell(sent(1), 5);
    tell(east.acknowledged(1), 10);
    tell(west.refused({ [change.wireName]: 'no' }), 20);
    tell(west.rejected(1), 20);
    expect(change.tally).toEqual({ sent: 3, acknowledged: 1, refused: 1, slowestMs: expect.closeTo(10, 0) as number });
    tell(west.refused({}, [change.wireName]), 40);
    tell(west.acknowledged(1, [change.wireName]), 40);
    expect(change.tally).toMatchObject({ acknowledged: 2, refused: 0, slowestMs: expect.closeTo(40, -1) as number });
    expect(changes.tallyOf(change, (name) => name === 'west')).toMatchObject({ sent: 1, acknowledged: 1, refused: 0 });
  });

  it('counts a change as acknowledged that an earlier stream refused and a later one does not', () => {
    const { changes, tell } = setUp('west');
    const [first, second] = [streamOf('west'), streamOf('west', 'west-2')];
    const [one, two] = [
      changes.append(logged(1), START),
      changes.append(logged(2, { name: 'other', wireName: 'other.m' }), START),
    ];
    tell(first.sent(2), 5);
    tell(first.refused({ [one.wireName]: 'no', [two.wireName]: 'no' }), 20);
    tell(first.rejected(2), 20);
    expect([one.tally.refused, two.tally.refused]).toEqual([1, 1]);
    tell(second.opened, 30);
    tell(second.refused({ [two.wireName]: 'no' }), 40);
    tell(second.rejected(2), 40);
    expect([one.tally, two.tally]).toMatchObject([
      { acknowledged: 1, refused: 0 },
      { acknowledged: 0, refused: 1 },
    ]);
  });

  it('leaves out a peer that may not see the change, and one that was deleted', () => {
    const { changes, tell } = setUp('east', 'west', 'north');
    const change = changes.append(logged(1, { visibility: { to: 'others', zone: 'east' } }), START);
    for (const zone of ['east', 'west', 'north']) tell(streamOf(zone).passed(1), 10);
    expect(change.tally).toMatchObject({ acknowledged: 2 });
    tell(streamOf('west').closed, 20);
    changes.forget('west');
    expect(change.tally).toMatchObject({ acknowledged: 1 });
  });

  it('reports each new change and each answer, and nothing else', () => {
    const { changes, tell } = setUp('east');
    const heard: number[] = [];
    changes.onProgress = ({ id }) => heard.push(id);
    changes.append(logged(1), START);
    changes.append(logged(2), START);
    expect(heard).toEqual([1, 2]);
    tell(streamOf('east').acknowledged(1), 10);
    tell(streamOf('east').acknowledged(1), 10);
    expect(heard).toEqual([1, 2, 1]);
  });
});

describe('the last confirmed version of a row', () => {
  it('is that of the newest change that the peer has acknowledged', () => {
    const { changes, tell } = setUp('east');
    const row = { type: TYPE, mesh: 'default', name: 'slow' };
    for (const version of [3, 4, 5]) changes.append(logged(version, { name: 'slow', version }), START);
    expect(changes.lastConfirmed(row)('east')).toBeNull();
    tell(streamOf('east').acknowledged(5), 30);
    expect(changes.lastConfirmed(row)('east')).toMatchObject({ version: 5 });
    changes.append(logged(6, { name: 'slow', version: 6 }), START);
    expect(changes.lastConfirmed(row)('east')).toMatchObject({ version: 5 });
    expect([changes.lastConfirmed(row)('west'), changes.lastConfirmed({ ...row, mesh: 'shop' })('east')]).toEqual([null, null]);
  });
});
