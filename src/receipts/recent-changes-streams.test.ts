// The recent changes over several streams, retries and changes of what a zone may see, with the events of real streams.
import { describe, expect, it } from 'vitest';
import { PEER, setUpStreams } from '../../test/support/sending-stream.ts';

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
