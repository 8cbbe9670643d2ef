import { describe, expect, it } from 'vitest';
import { filterOf } from './selector.ts';

describe('a selector', () => {
  it('becomes the filters of a list', () => {
    expect(filterOf({ selector: ['team=a,app==shop', 'k8s.kuma.io/namespace='], zone: 'east' })).toEqual({
      'filter[labels.team]': 'a',
      'filter[labels.app]': 'shop',
      'filter[labels.k8s.kuma.io/namespace]': '',
      'filter[labels.kuma.io/zone]': 'east',
    });
    expect(filterOf({})).toEqual({});
  });

  it.each(['team', 'team!=a', 'team in (a)', '=a'])('%s is refused', (text) => {
    expect(() => filterOf({ selector: [text] })).toThrow('key=value');
  });
});
