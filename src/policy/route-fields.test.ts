// The part of a conf that a route can have (policies 3.5).
import { expect, it } from 'vitest';
import type { JsonObject } from '../resource/types.ts';
import { hasRouteFields, routeFields } from './route-fields.ts';

const STRATEGY = 'MeshLoadBalancingStrategy';
const header = { type: 'Header', header: { name: 'x' } };
const connection = { type: 'Connection' };

it.each<[JsonObject, JsonObject]>([
  [{ hashPolicies: [header, connection] }, { hashPolicies: [connection] }],
  [{ hashPolicies: [header] }, {}],
  [{ hashPolicies: [] }, { hashPolicies: [] }],
  [{ hashPolicies: 'none' }, {}],
  [{}, {}],
])('a TCP route hashes on the connection only, and an empty list stays: %j', (conf, expected) => {
  expect(routeFields(STRATEGY, 'MeshTCPRoute', { ...conf, localityAwareness: {} })).toEqual(expected);
});

it('an HTTP route has each hash policy', () => {
  expect(routeFields(STRATEGY, 'MeshHTTPRoute', { hashPolicies: [header, connection] })).toEqual({
    hashPolicies: [header, connection],
  });
});

it('other kinds and other policies have no fields of a route', () => {
  expect(routeFields(STRATEGY, 'MeshService', { hashPolicies: [connection] })).toEqual({});
  expect(routeFields('MeshTrace', 'MeshTCPRoute', { backends: [] })).toEqual({});
  expect([STRATEGY, 'MeshTrace'].map(hasRouteFields)).toEqual([true, false]);
});
