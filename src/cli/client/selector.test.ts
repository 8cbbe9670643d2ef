import { fc } from '../../../test/support/property.ts';
import { describe, expect, it } from 'vitest';
import { meets, parseRequirements } from './label-requirements.ts';
import { selectionOf } from './selector.ts';

describe('a selector', () => {
  it('becomes the filters of a list', () => {
    const chosen = { selector: ['team=a,app==shop', 'k8s.kuma.io/namespace=,tier in (db)'], zone: 'east' };
    const filter = {
      'filter[labels.team]': 'a',
      'filter[labels.app]': 'shop',
      'filter[labels.k8s.kuma.io/namespace]': '',
      'filter[labels.tier]': 'db',
      'filter[labels.kuma.io/zone]': 'east',
    };
    expect(selectionOf(chosen)).toEqual({ filter, matches: null });
    expect(selectionOf({ selector: [''] })).toEqual({ filter: {}, matches: null });
  });

  it('has a zone and a namespace beside the labels', () => {
    expect(selectionOf({ zone: 'east', namespace: 'shop' })).toEqual({
      filter: { 'filter[labels.kuma.io/zone]': 'east', 'filter[labels.k8s.kuma.io/namespace]': 'shop' },
      matches: null,
    });
  });

  it('lets the client apply the parts that the server has no filter for', () => {
    const { filter, matches } = selectionOf({ selector: ['team=a,tier!=db', 'team=b'] });
    expect(filter).toEqual({ 'filter[labels.team]': 'a' });
    expect(matches?.({ team: 'a' })).toBe(false);
    expect(matches?.({ team: 'b' })).toBe(true);
    expect(matches?.({ team: 'b', tier: 'db' })).toBe(false);
  });

  it('selects the same rows when it is divided between server and client', () => {
    const part = fc.constantFrom('a=x', 'a=y', 'a!=x', 'a in (x,y)', 'a notin (x)', 'a', '!a', 'b=x', 'b=', 'b in (x)', '!b');
    const value = fc.constantFrom('', 'x', 'y', 'z');
    const labels = fc.record({ a: value, b: value, 'kuma.io/zone': fc.constantFrom('east', 'west') }, { requiredKeys: [] });
    fc.assert(
      fc.property(fc.array(part, { maxLength: 4 }), labels, fc.boolean(), (parts, given, ofEast) => {
        const { filter, matches } = selectionOf({ selector: parts, ...(ofEast && { zone: 'east' }) });
        const byServer = Object.entries(filter).every(([name, wanted]) => {
          const key = /^filter\[labels\.(.+)\]$/.exec(name)?.[1] ?? '';
          return (given as Record<string, string>)[key] === wanted;
        });
        const whole =
          parts.flatMap(parseRequirements).every((one) => meets(given, one)) && (!ofEast || given['kuma.io/zone'] === 'east');
        expect(byServer && (matches?.(given) ?? true)).toBe(whole);
      }),
    );
  });
});
