// The recent changes over several streams, retries and changes of what a zone may see, with the events of real streams.
import { describe, expect, it } from 'vitest';
import { PEER, setUpStreams } from '../../test/support/sending-stream.ts';
import { ANY_ZONE } from '../resource/zone-profile.ts';

describe('what a zone has of a change', () => {
  it.each(['stream', 'subscription'])('is decided by the answers of a new %s after a refusal', (kind) => {
    const { changes, connect, subscribeAgain, write, stateOf } = setUpStreams();
    const first = connect('s1');
    const change = write('a', 0);
    first.send();
    first.answer('unknown field');
    expect(stateOf(change)).toBe('refused');
    if (kind === 'stream') first.end();
    const second = kind === 'stream' ? connect('s2') : subscribeAgain(first, 's1');
    second.send();
    expect(stateOf(change)).toBe('sent');
    second.answer();
    expect([stateOf(change), change.tally.refused, change.tally.acknowledged]).toEqual(['acknowledged', 0, 1]);
    const next = write('a', 1);
    second.send();
    second.answer();
    expect([stateOf(next), changes.delivery(next, PEER).reason]).toEqual(['acknowledged', null]);
  });

  it('stays refused when a new stream has the same answer', () => {
    const { changes, connect, write } = setUpStreams();
    const change = write('a', 0);
    for (const id of ['s1', 's2']) {
      const stream = connect(id);
      stream.send();
      stream.answer(`no ${id}`);
      stream.end();
    }
    expect(changes.delivery(change, PEER)).toMatchObject({ state: 'refused', reason: 'no s2' });
    expect(change.tally).toMatchObject({ refused: 1, acknowledged: 0 });
  });

  it.each([
    ['a newer one that it refuses too', 'bad again'],
    ['a newer one that it accepts', null],
    ['its removal', null],
  ])('stays refused after %s', (how, refusal) => {
    const { changes, connect, write, remove, stateOf } = setUpStreams();
    const stream = connect('s1');
    const change = write('a', 0);
    stream.send();
    stream.answer('bad');
    const next = how === 'its removal' ? remove('a') : write('a', 1);
    stream.send();
    expect([stateOf(change), stateOf(next), changes.lastConfirmed(change)(PEER)]).toEqual(['refused', 'sent', null]);
    stream.answer(refusal);
    expect([stateOf(change), stateOf(next)]).toEqual(['refused', refusal === null ? 'acknowledged' : 'refused']);
    expect(change.tally).toMatchObject({ acknowledged: 0, refused: 1 });
  });

  it('is acknowledged though a newer one was written before the answer, which the zone then refuses', () => {
    const { connect, write, stateOf } = setUpStreams();
    const stream = connect('s1');
    const change = write('a', 0);
    stream.send();
    const next = write('a', 1);
    stream.answer();
    expect([stateOf(change), stateOf(next)]).toEqual(['acknowledged', 'pending']);
    stream.send();
    stream.answer('bad');
    expect([stateOf(change), stateOf(next)]).toEqual(['acknowledged', 'refused']);
  });

  it('is not acknowledged by a new stream that was sent the newer one in its place', () => {
    const { connect, write, stateOf } = setUpStreams();
    const first = connect('s1');
    const change = write('a', 0);
    first.send();
    first.end();
    write('b', 0);
    const second = connect('s2');
    const next = write('a', 1);
    expect(stateOf(change)).toBe('pending');
    second.send();
    second.answer('bad');
    expect([stateOf(change), stateOf(next)]).toEqual(['refused', 'refused']);
  });

  it('is acknowledged when a retry is accepted, also while a newer change waits', () => {
    const { connect, write, stateOf } = setUpStreams();
    const stream = connect('s1');
    const change = write('a', 0);
    stream.send();
    stream.answer('bad');
    stream.subscription.retry();
    expect(stream.send()?.entries).toHaveLength(1);
    const next = write('a', 1);
    stream.answer();
    expect([stateOf(change), stateOf(next)]).toEqual(['acknowledged', 'pending']);
  });

  it.each(['stream', 'subscription'])('is not withheld where a new %s sends it', (kind) => {
    const { connect, subscribeAgain, write, stateOf } = setUpStreams();
    const first = connect('s1', { form: 'kuma', known: null });
    const change = write('odd', 0);
    first.send();
    first.answer();
    expect(stateOf(change)).toBe('withheld');
    if (kind === 'stream') first.end();
    const second = kind === 'stream' ? connect('s2') : subscribeAgain(first, 's1');
    second.send();
    second.answer();
    expect(stateOf(change)).toBe('acknowledged');
  });
});

describe('a change that a zone may not see', () => {
  /** The zone is a member of mesh `shop` where `isMember` says so. */
  function setUpMember() {
    const all = setUpStreams();
    const zone = { isMember: false, isHomeEnabled: true };
    all.changes.profileOf = (name) =>
      name === PEER
        ? { ...ANY_ZONE, meshes: new Set(zone.isMember ? ['shop'] : []) }
        : { ...ANY_ZONE, isEnabled: zone.isHomeEnabled };
    const stream = all.connect('s1', { canSee: () => zone.isMember && zone.isHomeEnabled });
    stream.send();
    stream.answer();
    const write = (name: string) => all.write(name, 0, { visibility: { to: 'others', zone: 'west', mesh: 'shop' } });
    const become = (isMember: boolean): void => {
      zone.isMember = isMember;
      stream.subscription.review([...all.log.since(0)]);
    };
    const touch = (name: string): void => {
      const slot = all.log.find(name);
      if (slot === undefined) throw new Error(`${name} is not in the log`);
      all.log.touch(slot);
      all.changes.move({ type: all.log.type, wireName: name, position: slot.position });
    };
    return { ...all, stream, write, become, touch, zone };
  }

  it('is acknowledged by the answer alone when the zone becomes a member', () => {
    const { changes, stream, write, become, stateOf } = setUpMember();
    const change = write('a');
    expect([stream.send(), stateOf(change)]).toEqual([null, 'hidden']);
    become(true);
    expect([stateOf(change), changes.lastConfirmed(change)(PEER)]).toEqual(['pending', null]);
    expect(stream.send()?.entries).toHaveLength(1);
    expect(stateOf(change)).toBe('sent');
    stream.answer('bad');
    expect(changes.delivery(change, PEER)).toMatchObject({ state: 'refused', reason: 'bad' });
    stream.subscription.retry();
    stream.send();
    stream.answer();
    expect([stateOf(change), change.tally]).toMatchObject(['acknowledged', { sent: 1, acknowledged: 1, refused: 0 }]);
  });

  it('is not acknowledged by the answer to a response that was made before', () => {
    const { stream, write, become, log, stateOf } = setUpMember();
    become(true);
    const first = write('a');
    stream.send();
    stream.answer();
    become(false);
    const change = write('b');
    expect([stream.send()?.removed, log.position]).toEqual([['a'], 2]);
    become(true);
    stream.answer();
    expect([stateOf(first), stateOf(change)]).toEqual(['pending', 'pending']);
    expect(stream.send()?.entries).toHaveLength(2);
    stream.answer();
    expect([stateOf(first), stateOf(change)]).toEqual(['acknowledged', 'acknowledged']);
  });

  it('is sent once more when the zone leaves the mesh and comes back', () => {
    const { changes, stream, write, become, stateOf } = setUpMember();
    become(true);
    const change = write('a');
    for (let round = 0; round < 2; round += 1) {
      become(true);
      stream.send();
      expect(stateOf(change)).toBe('sent');
      stream.answer();
      expect([stateOf(change), change.tally]).toMatchObject(['acknowledged', { sent: 1, acknowledged: 1 }]);
      become(false);
      stream.send();
      stream.answer();
      expect([stateOf(change), changes.lastConfirmed(change)(PEER)]).toEqual(['hidden', null]);
      expect(change.tally).toMatchObject({ sent: 0, acknowledged: 0 });
    }
  });

  it('is acknowledged by the answer alone when its zone is enabled', () => {
    const { stream, write, become, touch, zone, stateOf } = setUpMember();
    become(true);
    zone.isHomeEnabled = false;
    const [change, other] = [write('a'), write('b')];
    expect([stream.send(), stateOf(change)]).toEqual([null, 'hidden']);
    zone.isHomeEnabled = true;
    for (const name of ['b', 'a']) touch(name);
    expect([stateOf(change), stateOf(other)]).toEqual(['pending', 'pending']);
    expect(stream.send()?.entries).toHaveLength(2);
    stream.answer();
    expect([stateOf(change), stateOf(other)]).toEqual(['acknowledged', 'acknowledged']);
  });
});
