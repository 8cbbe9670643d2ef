import { expect, it, vi } from 'vitest';
import { encodeDeltaResponse, encodeResourceEntry } from '../wire/kds-messages.ts';
import { SharedMessages } from './shared-messages.ts';

const entry = (name: string, bytes = 10): Buffer =>
  encodeResourceEntry({ name, version: 'v', kumaResource: new Uint8Array(bytes) });
const [one, other] = [entry('one.default'), entry('other.default')];
const parts = {
  ...{ typeUrl: 'MeshTimeout', nonce: '7', controlPlane: 'global' },
  ...{ entries: [one, other], removed: ['gone.default'], isPartial: true },
};

it('gives the same bytes to whoever is sent the same', () => {
  const messages = new SharedMessages();
  const message = messages.encode(parts);
  expect(message).toEqual(encodeDeltaResponse(parts));
  expect(messages.encode({ ...parts, entries: [one, other], removed: ['gone.default'] })).toBe(message);
});

it.each([
  ['type', { typeUrl: 'MeshRetry' }],
  ['nonce', { nonce: '8' }],
  ['sender', { controlPlane: 'east' }],
  ['resources', { entries: [one, entry('other.default')] }],
  ['order of resources', { entries: [other, one] }],
  ['number of resources', { entries: [one] }],
  ['names that are gone', { removed: ['another.default'] }],
  ['number of names that are gone', { removed: [] }],
  ['place in the full state', { isPartial: false }],
])('gives nobody a message of another %s', (_, difference) => {
  const messages = new SharedMessages();
  messages.encode(parts);
  const wanted = { ...parts, ...difference };
  expect(messages.encode(wanted)).toEqual(encodeDeltaResponse(wanted));
});

it('keeps no more than 24 MiB, and what is kept for those who ask next', () => {
  const messages = new SharedMessages();
  const large = ['1', '2', '3'].map((nonce) => ({ ...parts, nonce, entries: [entry('large.default', 10_000_000)] }));
  const [first, second, third] = large.map((wanted) => messages.encode(wanted));
  expect(messages.encode(large[0] ?? parts)).toBe(first);
  expect(messages.encode(large[1] ?? parts)).toBe(second);
  expect(messages.encode(large[2] ?? parts)).not.toBe(third);
  expect(messages.encode(large[2] ?? parts)).toEqual(third);
});

it('keeps nothing when nobody asks any more, and nothing for more than a minute', () => {
  vi.useFakeTimers();
  const messages = new SharedMessages();
  const message = messages.encode(parts);
  for (let second = 1; second < 60; second += 1) {
    expect(messages.encode(parts)).toBe(message);
    vi.advanceTimersByTime(1_000);
  }
  expect(messages.encode(parts)).toBe(message);
  vi.advanceTimersByTime(1_000);
  expect(vi.getTimerCount()).toBe(0);
  const next = messages.encode(parts);
  expect(next).not.toBe(message);
  vi.advanceTimersByTime(1_000);
  expect(vi.getTimerCount()).toBe(0);
  expect(messages.encode(parts)).not.toBe(next);
  vi.useRealTimers();
});
