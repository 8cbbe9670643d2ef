// The parts of specs and statuses that a peer gets in another form.
import { generateKeyPairSync } from 'node:crypto';
import { expect, it } from 'vitest';
import { makeRow } from '../../../test/support/make-row.ts';
import { typeOf } from '../../resource/type-registry.ts';
import type { JsonObject } from '../../resource/types.ts';
import { publicKeySpec, statusForGlobal, withGatewayZone, zoneSpecRewrites } from './spec-rewrites.ts';

it('the status of a MeshExternalService goes to global without its egress, and every other status as it is', () => {
  const status = { zoneEgress: { address: 'a' }, vip: { ip: '1' } };
  const sent = (type: string): JsonObject => statusForGlobal({ ...makeRow(type, 'one'), status }, typeOf(type));
  expect(sent('MeshExternalService')).toEqual({ vip: { ip: '1' } });
  expect(sent('MeshService')).toBe(status);
});

it.each<[what: string, networking: JsonObject, address: string | undefined]>([
  ['its own', { address: '1', zoneIngress: { address: '2' } }, '1'],
  ['that of its ingress', { zoneIngress: { address: '2' }, zoneEgress: { address: '3' }, inbound: [] }, '2'],
  ['that of its egress', { zoneIngress: {}, zoneEgress: { address: '3' } }, '3'],
  ['none where no section has one', { zoneIngress: { address: '' }, inbound: [] }, undefined],
])('a Dataplane goes to global with an address: %s', (_, networking, address) => {
  const sent = zoneSpecRewrites['Dataplane']?.({ networking, probes: { port: 1 } });
  expect(sent).toEqual({ networking: { ...networking, ...(address !== undefined && { address }) }, probes: { port: 1 } });
});

it('the subscriptions of an insight go to global without their generations', () => {
  const rewrite = zoneSpecRewrites['DataplaneInsight'];
  expect(rewrite?.({ subscriptions: [{ id: 'a', generation: 7 }, { id: 'b' }], mTLS: { a: 1 } })).toEqual({
    ...{ subscriptions: [{ id: 'a' }, { id: 'b' }], mTLS: { a: 1 } },
  });
  const without = { mTLS: {} };
  expect(rewrite?.(without)).toBe(without);
});

it('a gateway tag of a zone is that of the zone that sends it, and nothing else of the Dataplane changes', () => {
  const given = {
    networking: { address: '1', gateway: { type: 'DELEGATED', tags: { 'kuma.io/zone': 'old', app: 'edge' } } },
    probes: { port: 1 },
  };
  expect(withGatewayZone(given, 'east')).toEqual({
    networking: { address: '1', gateway: { type: 'DELEGATED', tags: { 'kuma.io/zone': 'east', app: 'edge' } } },
    probes: { port: 1 },
  });
  for (const spec of [{}, { networking: {} }, { networking: { gateway: { tags: { app: 'edge' } } } }])
    expect(withGatewayZone(spec, 'east')).toBe(spec);
});

it('zones get the public half of a signing key, and none of a key that cannot be read', () => {
  const encoding = { type: 'pkcs1', format: 'pem' } as const;
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: 1024,
    privateKeyEncoding: encoding,
    publicKeyEncoding: encoding,
  });
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const data = base64(privateKey);
  const sent = publicKeySpec(makeRow('GlobalSecret', 'key-1', { spec: { data, note: 'private' } }));
  expect(sent).toEqual({ data: base64(publicKey) });
  expect(() => publicKeySpec(makeRow('GlobalSecret', 'key-1', { spec: { data: base64('none') } }))).toThrow(
    'GlobalSecret key-1 holds no PEM "RSA PRIVATE KEY"; it is not sent to zones',
  );
});
