import { describe, expect, it } from 'vitest';
import { EventRing, MAX_CHARACTERS, MAX_EVENTS } from './event-ring.ts';

const item = (json: string) => ({ json, type: null });
const textsAfter = (ring: EventRing, sequence: number): string[] | null =>
  ring.after(sequence)?.flatMap(({ items }) => items.map(({ json }) => json)) ?? null;

describe('the kept events', () => {
  it('are read from a position on, and none from the newest', () => {
    const ring = new EventRing();
    expect(textsAfter(ring, 0)).toEqual([]);
    for (const json of ['a', 'b', 'c']) ring.append('zones', [item(json)]);
    expect(textsAfter(ring, 0)).toEqual(['a', 'b', 'c']);
    expect(textsAfter(ring, 2)).toEqual(['c']);
    expect(textsAfter(ring, 3)).toEqual([]);
    expect(ring.after(4)).toBeNull();
  });

  it('are bounded in number: a reader of dropped events learns that they are missing', () => {
    const ring = new EventRing();
    for (let count = 0; count < MAX_EVENTS + 5; count += 1) ring.append('lag', [item('x')]);
    expect(ring.after(4)).toBeNull();
    expect(ring.after(5)).toHaveLength(MAX_EVENTS);
    expect(ring.newest).toBe(MAX_EVENTS + 5);
  });

  it('are bounded in size, but for the newest', () => {
    const ring = new EventRing();
    const half = 'x'.repeat(MAX_CHARACTERS / 2);
    for (const text of [half, half, half]) ring.append('zones', [item(text)]);
    expect(ring.after(0)).toBeNull();
    expect(ring.after(1)).toHaveLength(2);
    ring.append('zones', [item(half), item(half), item(half)]);
    expect(ring.after(2)).toBeNull();
    expect(ring.after(3)).toHaveLength(1);
  });
});
