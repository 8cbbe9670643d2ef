import { expect, it, vi } from 'vitest';
import { systemClock } from '../../base/clock.ts';
import { encodeDeltaResponse, encodeResourceEntry, type DeltaResponseParts } from '../../wire/kds-messages.ts';
import { SharedMessages } from './shared-messages.ts';

const entry = (name: string, bytes = 10): Buffer =>
  encodeResourceEntry({ name, version: 'v', kumaResource: new Uint8Array(bytes) });
const [one, other] = [entry('one.default', 40_000), entry('other.default', 40_000)];
const parts = {
  ...{ typeUrl: 'MeshTimeout', nonce: '7', controlPlane: 'global' },
  ...{ entries: [one, other], removed: ['gone.default'], isPartial: true },
};
const small = { ...parts, entries: [entry('small.default')] };

it.each([
  ['large', parts],
  ['small', small],
])('the cache returns the same bytes for equal %s messages', (_, wanted) => {
  const messages = new SharedMessages(systemClock);
  const message = messages.encode(wanted);
  expect(message).toEqual(encodeDeltaResponse(wanted));
  expect(messages.encode({ ...wanted, entries: [...wanted.entries], removed: ['gone.default'] })).toBe(message);
});

it('the cache keeps only messages with a buffer of their own, and the last of the others', () => {
  const messages = new SharedMessages(systemClock);
  const [large, first] = [messages.encode(parts), messages.encode(small)];
  expect(large.buffer.byteLength).toBe(large.length);
  const second = messages.encode({ ...small, nonce: '8' });
  expect(messages.encode(parts)).toBe(large);
  expect(messages.encode({ ...small, nonce: '8' })).toBe(second);
  expect(messages.encode(small)).not.toBe(first);
});

it.each([
  ['type', { typeUrl: 'MeshRetry' }],
  ['nonce', { nonce: '8' }],
  ['sender', { controlPlane: 'east' }],
  ['resources', { entries: [one, entry('other.default', 40_000)] }],
  ['order of resources', { entries: [other, one] }],
  ['number of resources', { entries: [one] }],
  ['names that are gone', { removed: ['another.default'] }],
  ['number of names that are gone', { removed: [] }],
  ['place in the full state', { isPartial: false }],
  ['list of held meshes', { heldMeshes: ['shop'] }],
])('the cache does not return a message with another %s', (_, difference) => {
  for (const before of [parts, small]) {
    const messages = new SharedMessages(systemClock);
    messages.encode(before);
    const wanted = { ...before, ...difference };
    expect(messages.encode(wanted)).toEqual(encodeDeltaResponse(wanted));
  }
});

it('the cache keeps at most 24 MiB, and reuses the kept messages', () => {
  const messages = new SharedMessages(systemClock);
  // The third would need a quarter of a MiB more.
  const sizes = { 1: 10_000_000, 2: 10_000_000, 3: 5_400_000 };
  const large = Object.entries(sizes).map(([nonce, bytes]) => ({ ...parts, nonce, entries: [entry('large.default', bytes)] }));
  const [first, second, third] = large.map((wanted) => messages.encode(wanted));
  // vitest compares and prints 10 MB item by item.
  expect(messages.encode(large[0] ?? parts) === first).toBe(true);
  expect(messages.encode(large[1] ?? parts) === second).toBe(true);
  const again = messages.encode(large[2] ?? parts);
  expect(again === third).toBe(false);
  expect(again.equals(third ?? Buffer.alloc(0))).toBe(true);
});

it('the cache has room for 24 MiB again after it dropped all messages', () => {
  vi.useFakeTimers();
  const messages = new SharedMessages(systemClock);
  const entries = [entry('large.default', 20_000_000)];
  const wanted = (nonce: string): DeltaResponseParts => ({ ...parts, nonce, entries });
  messages.encode(wanted('1'));
  vi.advanceTimersByTime(1_000);
  const next = messages.encode(wanted('2'));
  expect(messages.encode(wanted('2')) === next).toBe(true);
  vi.useRealTimers();
});

it('the cache drops messages that no stream requests, and all messages after a minute', () => {
  vi.useFakeTimers();
  const messages = new SharedMessages(systemClock);
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
