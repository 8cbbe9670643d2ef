import { describe, expect, it } from 'vitest';
import type { Item } from '../client/api-client.ts';
import { gatewayRouteColumns, problemsOf } from './gateway-route-columns.ts';

type Condition = { type: string; status: string; message: string };

function route(...parents: Condition[][]): Item {
  return { type: 'HTTPRoute', name: 'cart', status: { parents: parents.map((conditions) => ({ conditions })) } };
}

const said = (type: string, status: string, message = ''): Condition => ({ type, status, message });
const cells = (item: Item): string[] => gatewayRouteColumns.map((column) => column.of(item));

describe('the columns of a Gateway API route', () => {
  it('say that it is in force', () => {
    const item = route([
      said('Accepted', 'True', 'the route is in force'),
      said('ResolvedRefs', 'True', 'every reference is found'),
    ]);
    expect(cells(item)).toEqual(['True', 'True', '-']);
  });

  it('say what one of its parents says, and why, each reason once', () => {
    const degraded = [
      said('Accepted', 'True'),
      said('ResolvedRefs', 'False', 'rule 1 is left out'),
      said('PartiallyInvalid', 'True', 'Dropped Rule 1: no such service'),
    ];
    const lost = [said('Accepted', 'False', 'no such parent'), ...degraded.slice(1)];
    expect(cells(route(degraded, lost))).toEqual(['False', 'False', 'Dropped Rule 1: no such service; no such parent']);
    expect(problemsOf(route([said('ResolvedRefs', 'False', 'rule 1 is left out')]))).toEqual(['rule 1 is left out']);
  });

  it('are empty until the reconciler has checked the route', () => {
    expect(cells({ type: 'HTTPRoute', name: 'cart', status: {} })).toEqual(['-', '-', '-']);
    expect(cells({ type: 'HTTPRoute', name: 'cart' })).toEqual(['-', '-', '-']);
  });
});
