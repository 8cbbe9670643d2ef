import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../resource/types.ts';
import type { Item } from '../client/api-client.ts';
import { routeText, routeView } from './inspect-routes.ts';

const LABELS = { 'kuma.io/display-name': 'cart-route', 'k8s.kuma.io/namespace': 'shop' };
const CONDITIONS = [
  { type: 'Accepted', status: 'True', reason: 'Accepted', message: 'the route became MeshHTTPRoute cart-route' },
  { type: 'ResolvedRefs', status: 'False', reason: 'DegradedRoutes', message: 'rule 1 is left out' },
];

function route(status: JsonObject): Item {
  return { type: 'HTTPRoute', mesh: 'm', name: 'cart-route.shop', labels: LABELS, spec: {}, status };
}

describe('inspect routes', () => {
  it('says of each parent what was decided and why', () => {
    const parentRef = { group: '', kind: 'Service', name: 'cart', namespace: 'shop', port: 80 };
    expect(routeText(route({ parents: [{ parentRef, conditions: CONDITIONS }] }))).toBe(
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

  it('says that a new route has not been looked at', () => {
    expect(routeText(route({}))).toContain('not looked at yet');
    expect(routeView(route({}))).toMatchObject({ kind: 'HTTPRoute', name: 'cart-route', namespace: 'shop', parents: [] });
  });
});
