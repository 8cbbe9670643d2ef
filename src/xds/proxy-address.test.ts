import { expect, it } from 'vitest';
import type { JsonObject } from '../resource/types.ts';
import { proxyAddress } from './proxy-address.ts';

const at = (address: string): JsonObject => ({ address });

it.each<[JsonObject, string]>([
  [at('10.0.0.1'), '10.0.0.1'],
  [{ ...at('10.0.0.1'), zoneIngress: at('10.0.0.2'), zoneEgress: at('10.0.0.3') }, '10.0.0.1'],
  [{ zoneIngress: at('10.0.0.2'), zoneEgress: at('10.0.0.3') }, '10.0.0.2'],
  [{ ...at(''), zoneIngress: at('10.0.0.2') }, '10.0.0.2'],
  [{ zoneEgress: at('10.0.0.3') }, '10.0.0.3'],
  [{ zoneIngress: {}, zoneEgress: at('10.0.0.3') }, '10.0.0.3'],
  [{}, ''],
])('the address of a proxy with %j is «%s»', (networking, expected) => {
  expect(proxyAddress({ spec: { networking } })).toBe(expected);
});
