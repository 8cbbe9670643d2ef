import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../resource/types.ts';
import type { Item } from '../client/api-client.ts';
import { gatewayRouteColumns, problemsOf, routeText, routeView } from './gateway-route.ts';

type Condition = { type: string; status: string; message: string };

function route(...parents: Condition[][]): Item {
  return { type: 'HTTPRoute', name: 'cart', status: { parents: parents.map((conditions) => ({ conditions })) } };
}

const said = (type: string, status: string, message = ''): Condition => ({ type, status, message });
const cells = (item: Item): string[] => gatewayRouteColumns.map((column) => column.of(item));

describe('the columns of a Gateway API route', () => {
  it('show an accepted route', () => {
    const item = route([
      said('Accepted', 'True', 'the route is in force'),
      said('ResolvedRefs', 'True', 'every reference is found'),
    ]);
    expect(cells(item)).toEqual(['True', 'True', '-']);
  });

  it('show False if one parent has False, and each reason once', () => {
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

const LABELS = { 'kuma.io/display-name': 'cart-route', 'k8s.kuma.io/namespace': 'shop' };
const CONDITIONS = [
  { type: 'Accepted', status: 'True', reason: 'Accepted', message: 'the route became MeshHTTPRoute cart-route' },
  { type: 'ResolvedRefs', status: 'False', reason: 'DegradedRoutes', message: 'rule 1 is left out' },
];

function routeWith(status: JsonObject): Item {
  return { type: 'HTTPRoute', mesh: 'm', name: 'cart-route.shop', labels: LABELS, spec: {}, status };
}

describe('inspect routes', () => {
  it('shows the conditions of each parent with their reasons', () => {
    const parentRef = { group: '', kind: 'Service', name: 'cart', namespace: 'shop', port: 80 };
    expect(routeText(routeWith({ parents: [{ parentRef, conditions: CONDITIONS }] }))).toBe(
      [
        'HTTPRoute m/cart-route in namespace shop',
        '  for the clients of Service cart in namespace shop, port 80',
        '    Accepted True',
        '      the route became MeshHTTPRoute cart-route',
        '    ResolvedRefs False (DegradedRoutes)',
        '      rule 1 is left out',
      ].join('\n'),
    );
  });

  it('shows that no reconciler has checked a new route', () => {
    expect(routeText(routeWith({}))).toContain('not checked yet');
    expect(routeView(routeWith({}))).toMatchObject({ kind: 'HTTPRoute', name: 'cart-route', namespace: 'shop', parents: [] });
  });
});
