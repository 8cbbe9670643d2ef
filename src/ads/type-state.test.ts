// What the state of one type keeps of each name, and when it has something to send.
import { describe, expect, it } from 'vitest';
import { NameSet } from './name-sets.ts';
import type { XdsResponse } from './session-messages.ts';
import { TypeState } from './type-state.ts';

/** A state after its first response, of a proxy that asks for these names. */
function stateOf(...names: string[]): TypeState {
  const state = new TypeState('Cluster', new NameSet(new Set(names), false));
  state.isFirst = false;
  return state;
}

const kept = ({ dirty, gone }: TypeState): unknown => ({ dirty: [...dirty.entries], gone: [...gone.entries] });

describe('a change of the view', () => {
  it('keeps the version that the proxy holds of a wanted name', () => {
    const state = stateOf('a');
    state.change('a', '1');
    state.change('other', '1');
    expect(kept(state)).toEqual({ dirty: [['a', '1']], gone: [] });
    state.change('a', '2');
    expect(kept(state)).toEqual({ dirty: [['a', '1']], gone: [] });
  });

  it('brings back a name that was gone, with the version that was sent', () => {
    const state = stateOf('a');
    state.gone.set('a', '1');
    state.change('a', '');
    expect(kept(state)).toEqual({ dirty: [['a', '1']], gone: [] });
  });

  it('takes no version of a suspected resource as held', () => {
    const state = stateOf('a');
    state.suspect([{ name: 'a', version: '1', bytes: new Uint8Array() }], false);
    state.change('a', '1');
    expect([state.hasSent('a', '1'), state.takeSuspects(), state.dirty.size]).toEqual([false, [], 1]);
  });

  it('is about every name for a proxy that asks for all', () => {
    const state = stateOf();
    state.isWildcard = true;
    state.change('a', '');
    expect([kept(state), state.wants('b')]).toEqual([{ dirty: [['a', '']], gone: [] }, true]);
  });
});

it('a name is forgotten once nothing asks for it', () => {
  const state = stateOf('a');
  for (const name of ['a', 'b']) {
    state.dirty.set(name, '1');
    state.gone.set(name, '1');
    state.forget(name);
  }
  expect(kept(state)).toEqual({ dirty: [['a', '1']], gone: [['a', '1']] });
});

it.each<[name: string, version: string, hasSent: boolean]>([
  ['sent', '1', true],
  ['changed', '1', true],
  ['changed', '2', false],
  ['new', '1', false],
  ['unknown', '1', false],
])('of %s the version %s was sent: %s', (name, version, hasSent) => {
  const state = stateOf('sent', 'changed', 'new');
  state.dirty.set('changed', '1');
  state.dirty.set('new', '');
  expect(state.hasSent(name, version)).toBe(hasSent);
});

describe('there is something to send', () => {
  const pending: XdsResponse = { type: 'Cluster', nonce: '1', resources: [], removed: [] };

  it.each<[what: string, (state: TypeState) => void]>([
    ['the first response', (state) => void (state.isFirst = true)],
    ['a changed resource', (state) => state.dirty.set('a', '')],
    ['a resource that is gone', (state) => state.gone.set('a', '1')],
    ['an answer', (state) => state.mustAnswer('a')],
  ])('for %s, unless a response waits', (_, change) => {
    const state = stateOf('a');
    expect(state.hasWork).toBe(false);
    change(state);
    expect(state.hasWork).toBe(true);
    state.pending = pending;
    expect(state.hasWork).toBe(false);
  });

  it('until each name that was asked for is answered', () => {
    const state = stateOf('a', 'b');
    state.mustAnswer('a');
    state.mustAnswer('b');
    state.answered('a');
    state.answered('none');
    expect([[...state.unanswered], state.hasWork]).toEqual([['b'], true]);
    state.answered('b');
    expect([[...state.unanswered], state.hasWork]).toEqual([[], false]);
  });
});

it('its size is the number of all names that it keeps', () => {
  const state = stateOf('a');
  for (const name of ['b', 'c']) state.dirty.set(name, '');
  for (const name of ['d', 'e', 'f', 'g']) state.gone.set(name, '1');
  for (let at = 0; at < 8; at += 1) state.mustAnswer(String(at));
  expect(state.size).toBe(15);
});
