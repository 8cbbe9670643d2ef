import { expect, it } from 'vitest';
import type { JsonObject } from '../resource/types.ts';
import { applicationAddress } from './application-address.ts';
import { isHttp, protocolOf } from '../envoy/protocol.ts';

it.each<[inbound: JsonObject, address: string, port: number]>([
  [{ port: 80 }, '10.0.0.1', 80],
  [{ port: 80, address: '10.0.0.2' }, '10.0.0.2', 80],
  [{ port: 80, address: '10.0.0.2', serviceAddress: '10.0.0.3' }, '10.0.0.3', 80],
  [{ port: 80, servicePort: 8080 }, '10.0.0.1', 8080],
])('behind the inbound %j is %s:%i', (inbound, address, port) => {
  expect(applicationAddress({ address: '10.0.0.1' }, inbound)).toEqual({ address, port });
});

it.each([
  ['http', 'http', true],
  ['http2', 'http2', true],
  ['grpc', 'grpc', true],
  ['tcp', 'tcp', false],
  ['kafka', 'tcp', false],
  ['', 'tcp', false],
])('the protocol «%s» is %s, with requests: %s', (text, protocol, hasRequests) => {
  expect(protocolOf(text)).toBe(protocol);
  expect(isHttp(protocolOf(text))).toBe(hasRequests);
});
