import { describe, expect, it } from 'vitest';
import { derivedName } from './to-mesh-routes.ts';
import type { ParentRef } from './gateway-route.ts';

const cart: ParentRef = {
  group: '',
  kind: 'Service',
  name: 'cart',
  namespace: 'shop',
  at: 'spec.parentRefs[0]',
  port: undefined,
  sectionName: undefined,
};

const r = { name: 'r', namespace: 'shop' };

describe('derivedName', () => {
  it('is the name of the route when it has one parent and one group', () => {
    expect(derivedName(r, cart, { parent: 0, group: 0 })).toBe('r');
  });

  it('depends on the content of the next parent, not on its position', () => {
    const name = derivedName(r, cart, { parent: 1, group: 0 });
    expect(name).toMatch(/^r-[0-9a-z]{8}$/);
    expect(derivedName(r, { ...cart, at: 'spec.parentRefs[4]' }, { parent: 4, group: 0 })).toBe(name);
    expect(derivedName(r, { ...cart, port: 80 }, { parent: 1, group: 0 })).not.toBe(name);
  });

  it('sorts by group, so that earlier rules have precedence', () => {
    const names = [0, 1, 2, 9, 10].map((group) => derivedName(r, cart, { parent: 0, group }));
    expect(names).toEqual(['r', 'r-t02', 'r-t03', 'r-t10', 'r-t11']);
    expect(names.toSorted()).toEqual(names);
  });

  it('has at most 253 characters together with its namespace', () => {
    const long = { name: 'a'.repeat(248), namespace: 'shop' };
    expect(`${derivedName(long, cart, { parent: 1, group: 0 })}.shop`).toHaveLength(253);
    expect(derivedName(long, cart, { parent: 0, group: 0 })).toBe(long.name);
    expect(derivedName({ name: 'a'.repeat(253), namespace: undefined }, cart, { parent: 1, group: 1 })).toMatch(
      /^a{240}-[0-9a-z]{8}-t02$/,
    );
  });
});
