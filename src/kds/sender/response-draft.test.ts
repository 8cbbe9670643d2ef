// The limits of one response.
import { describe, expect, it } from 'vitest';
import { DraftBuilder } from './response-draft.ts';
import type { Slot } from '../log/type-log.ts';

const slot = (wireName: string): Slot => ({ wireName }) as Slot;
const ofBytes = (length: number): Uint8Array => new Uint8Array(length);
/** A name that takes ten bytes of a response. */
const NAME = 'fives';

describe('a draft', () => {
  it('has what was added, with its bytes, and each removed name once', () => {
    const draft = new DraftBuilder(100, 100);
    expect(draft.isEmpty).toBe(true);
    const added = ofBytes(7);
    expect([draft.add(slot('a'), added), draft.remove(NAME, slot(NAME)), draft.remove(NAME, slot('twin'))]).toEqual([
      true,
      true,
      true,
    ]);
    expect(draft.isEmpty).toBe(false);
    expect(draft.finish(42, true)).toEqual({
      entries: [added],
      removed: [NAME],
      bytes: 17,
      isPartial: true,
      isWithdrawal: false,
      upTo: 42,
    });
    expect([draft.added, draft.gone].map((items) => items.map(({ wireName }) => wireName))).toEqual([['a'], [NAME, 'twin']]);
  });

  it('counts the bytes of a removed name in UTF-8', () => {
    const draft = new DraftBuilder(100, 100);
    draft.remove('é', slot('é'));
    expect(draft.bytes).toBe(7);
  });

  it.each<[string, fullBytes: number, maxBytes: number, fits: boolean]>([
    ['below both limits', 11, 20, true],
    ['with the last byte of the message', 100, 20, true],
    ['with one byte more than the message', 100, 19, false],
    ['that is full', 10, 100, false],
  ])('takes a second item %s: full after %i bytes, at most %i: %s', (_, fullBytes, maxBytes, fits) => {
    for (const first of ['add', 'remove'] as const)
      for (const second of ['add', 'remove'] as const) {
        const draft = new DraftBuilder(fullBytes, maxBytes);
        const put = (how: 'add' | 'remove', name: string): boolean =>
          how === 'add' ? draft.add(slot(name), ofBytes(10)) : draft.remove(name, slot(name));
        expect([put(first, 'first'), put(second, 'other')]).toEqual([true, fits]);
        expect([draft.bytes, draft.added.length + draft.gone.length]).toEqual(fits ? [20, 2] : [10, 1]);
      }
  });

  it('takes a first item that is larger than its limits, and a removed name again when it is full', () => {
    const draft = new DraftBuilder(5, 5);
    expect([draft.remove(NAME, slot(NAME)), draft.remove(NAME, slot(NAME)), draft.remove('other', slot('other'))]).toEqual([
      true,
      true,
      false,
    ]);
    expect(new DraftBuilder(5, 5).add(slot('a'), ofBytes(10))).toBe(true);
  });
});
