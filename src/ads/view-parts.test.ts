import { describe, expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import { SharedMaps } from './shared-map.ts';
import { ViewParts, type KeptPart } from './view-parts.ts';

let serial = 0;
const part = (isOwn = false): KeptPart => ({ isOwn, serial: (serial += 1) });

describe('the parts of a view', () => {
  it('are those that were set last, whether they are its own or shared', () => {
    const name = fc.constantFrom('a', 'b', 'c');
    const step = fc.tuple(name, fc.constantFrom('own', 'shared', 'removed', 'settle'));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const parts = new ViewParts(new SharedMaps<KeptPart>());
        const expected = new Map<string, KeptPart>();
        for (const [at, what] of steps) {
          if (what === 'settle') parts.settle();
          else if (what === 'removed') {
            parts.set(at, null);
            expected.delete(at);
          } else {
            const made = part(what === 'own');
            parts.set(at, made);
            expected.set(at, made);
          }
          for (const each of ['a', 'b', 'c']) expect(parts.get(each)).toBe(expected.get(each));
        }
        expect(new Map(parts.entries())).toEqual(expected);
        const visited: KeptPart[] = [];
        parts.forEach((one) => void visited.push(one));
        expect(new Set(visited)).toEqual(new Set(expected.values()));
        expect(visited).toHaveLength(expected.size);
        const own = [...expected].filter(([, { isOwn }]) => isOwn).map(([each]) => each);
        expect(parts.ownNames().sort()).toEqual(own.sort());
        expect(parts.shared === null).toBe(own.length > 0);
      }),
    );
  });

  it('are lent to another view as a whole, and not while some are its own', () => {
    const maps = new SharedMaps<KeptPart>();
    const [one, other] = [new ViewParts(maps), new ViewParts(maps)];
    const [common, mine] = [part(), part(true)];
    one.set('common', common);
    other.set('mine', mine);
    other.set('edited', part());
    if (one.shared === null) throw new Error('the parts are shared');
    other.adopt(one.shared);
    expect(new Map(other.entries())).toEqual(new Map([['common', common]]));
    expect(other.shared).toBe(one.shared);
    one.set('mine', mine);
    expect(one.shared).toBeNull();
    one.set('mine', null);
    expect(one.shared).toBe(other.shared);
  });
});
