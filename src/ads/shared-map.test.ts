// Maps with equal contents are one object, whatever edits led to them, and a map goes with the last that holds it.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import { SharedMaps, type SharedMap } from './shared-map.ts';
import { ViewParts } from './view-parts.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

type Part = { readonly serial: number; readonly isOwn: boolean };

const NAMES = ['a', 'b', 'c', 'd'];
/** Those of one name; the last two of them are a proxy's own. */
const PARTS: readonly (readonly Part[])[] = NAMES.map((_, at) =>
  Array.from({ length: 6 }, (_part, of) => ({ serial: 6 * at + of, isOwn: of >= 4 })),
);
/** A name and one of its parts, or none. */
const edit = (parts: number): fc.Arbitrary<[string, Part | null]> =>
  fc.tuple(fc.nat(3), fc.nat(parts)).map(([at, of]) => [NAMES[at] ?? '', of === parts ? null : (PARTS[at]?.[of] ?? null)]);
const edits = fc.array(edit(4), { maxLength: 4 });

function sorted(entries: Iterable<[string, unknown]>): [string, unknown][] {
  return [...entries].sort(([a], [b]) => (a < b ? -1 : 1));
}

describe('shared maps', () => {
  it('follow their edits, and are one object if they are equal', () => {
    fc.assert(
      fc.property(fc.array(fc.array(edits, { maxLength: 8 }), { maxLength: 6 }), (proxies) => {
        const maps = new SharedMaps<Part>();
        const seen = new Map<string, SharedMap<Part>>();
        for (const steps of proxies) {
          let map = maps.empty;
          const model = new Map<string, Part>();
          for (const step of steps) {
            map = maps.edit(map, new Map(step));
            for (const [name, part] of new Map(step)) {
              if (part === null) model.delete(name);
              else model.set(name, part);
            }
            expect(sorted(map.entries())).toEqual(sorted(model));
            const text = JSON.stringify(sorted(model));
            expect(seen.get(text) ?? map).toBe(map);
            seen.set(text, map);
          }
        }
      }),
    );
  });

  it('go when nothing holds them', async () => {
    const maps = new SharedMaps<Part>();
    const at = (serial: number): SharedMap<Part> => maps.edit(maps.empty, new Map([['a', { serial, isOwn: false }]]));
    const held = at(0);
    for (let serial = 1; serial <= 1_000; serial += 1) at(serial);
    const size = (): number => {
      collect();
      return maps.size;
    };
    await expect.poll(size).toBe(1);
    expect(held.size).toBe(1);
  });
});

describe('the digest of a map', () => {
  const FINAL_MIX = new Map([
    [0, 0],
    [1, 0x514e28b7],
    [3, 0x85f0b427],
    [0x12345678, 0xe37cd1bc],
  ]);
  const of = (...serials: number[]): number => serials.reduce((sum, serial) => (sum + (FINAL_MIX.get(serial) ?? 0)) | 0, 0);
  const part = (serial: number): Part => ({ serial, isOwn: false });

  it('is the sum of the final mix of MurmurHash3 of its numbers', () => {
    const maps = new SharedMaps<Part>();
    const one = maps.edit(maps.empty, new Map([['a', part(1)]]));
    const two = maps.edit(one, new Map([['b', part(0x12345678)]]));
    const other = maps.edit(two, new Map([['a', part(3)]]));
    const less = maps.edit(other, new Map([['b', null]]));
    const none = maps.edit(less, new Map([['a', null]]));
    expect([one, two, other, less, none].map(({ digest }) => digest)).toEqual([
      of(1),
      of(1, 0x12345678),
      of(3, 0x12345678),
      of(3),
      0,
    ]);
  });
});

describe('the maps that follow a map', () => {
  const part = (serial: number): Part => ({ serial, isOwn: false });
  const put = (maps: SharedMaps<Part>, serial: number): SharedMap<Part> => maps.edit(maps.empty, new Map([['a', part(serial)]]));

  it('are found by the edits, sixteen of them, and give their place to others when they have gone', async () => {
    const maps = new SharedMaps<Part>();
    let held = Array.from({ length: 17 }, (_, serial) => put(maps, serial));
    expect(held.map((map, serial) => maps.empty.next(`a ${String(serial)}`) === map)).toEqual([
      ...Array.from({ length: 16 }, () => true),
      false,
    ]);
    held = held.slice(1, 2);
    const isGone = (): boolean => {
      collect();
      return maps.empty.next('a 0') === undefined;
    };
    await expect.poll(isGone).toBe(true);
    const late = put(maps, 20);
    expect(maps.empty.next('a 20')).toBe(late);
    expect(maps.empty.next('a 1')).toBe(held[0]);
  });
});

describe('the parts of a view', () => {
  it('are those that were set last, shared or its own, before and after they settle', () => {
    const step = fc.oneof({ weight: 3, arbitrary: edit(6) }, fc.constant('settle' as const));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
        const parts = new ViewParts(new SharedMaps<Part>());
        const model = new Map<string, Part>();
        for (const given of steps) {
          if (given === 'settle') parts.settle();
          else {
            const [name, part] = given;
            parts.set(name, part);
            if (part === null) model.delete(name);
            else model.set(name, part);
          }
          for (const name of NAMES) expect(parts.get(name)).toBe(model.get(name));
        }
        const own = [...model].flatMap(([name, { isOwn }]) => (isOwn ? [name] : []));
        expect(parts.ownNames().sort()).toEqual(own.sort());
        expect(sorted(parts.entries())).toEqual(sorted(model));
      }),
    );
  });
});
