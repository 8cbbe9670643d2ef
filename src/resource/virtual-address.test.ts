import { expect, it } from 'vitest';
import type { JsonObject } from './types.ts';
import { virtualAddress } from './virtual-address.ts';

it.each<[string, JsonObject, string]>([
  ['MeshService', { vips: [{ ip: 'a' }, { ip: 'b' }] }, 'a'],
  ['MeshService', { vip: { ip: 'a' } }, ''],
  ['MeshService', { vips: [] }, ''],
  ['MeshExternalService', { vip: { ip: 'a' } }, 'a'],
  ['MeshExternalService', { vips: [{ ip: 'a' }] }, ''],
  ['MeshExternalService', { vip: { ip: 5 } }, ''],
])('the address of a stored %s with %j is «%s»', (type, status, expected) => {
  expect(virtualAddress({ type, status })).toBe(expected);
});
