import { describe, expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import { TYPE_URL_PREFIX } from '../wire/any.ts';
import { decodeDeltaResponse, encodeResourceEntry } from '../wire/kds-messages.ts';
import { XDS_MESSAGES } from './encode-resources.ts';
import { ResponseEncoder } from './response-encoder.ts';
import { XDS_TYPES, type XdsResource, type XdsResponse } from './session-messages.ts';

const resources = ['a', 'b', 'a'].map((name, index): XdsResource => {
  const version = String(index);
  return { name, version, bytes: encodeResourceEntry({ name, version, typeUrl: 'x', kumaResource: Buffer.from([index]) }) };
});
const response: fc.Arbitrary<XdsResponse> = fc.record({
  type: fc.constantFrom(...XDS_TYPES),
  nonce: fc.constantFrom('1', '2'),
  resources: fc.subarray(resources),
  removed: fc.subarray(['c', 'd']),
});

describe('ResponseEncoder', () => {
  it('encodes each response independently of earlier ones', () => {
    fc.assert(
      fc.property(fc.array(response, { maxLength: 30 }), (responses) => {
        const encoder = new ResponseEncoder('one');
        for (const given of responses) {
          const { type, nonce, removed } = given;
          const encoded = encoder.encode(given);
          expect(encoded).toEqual(new ResponseEncoder('one').encode(given));
          const { resources: found, ...rest } = decodeDeltaResponse(encoded.bytes);
          const typeUrl = TYPE_URL_PREFIX + XDS_MESSAGES[type];
          expect(rest).toEqual({ typeUrl, nonce, removedResources: removed, controlPlane: 'one', isPartial: false });
          expect(found.map(({ name, version }) => [name, version])).toEqual(
            given.resources.map(({ name, version }) => [name, version]),
          );
        }
      }),
    );
  });

  it('encodes again what differs in one of several resources', () => {
    const encoder = new ResponseEncoder('one');
    const [first, second, third] = resources as [XdsResource, XdsResource, XdsResource];
    const given = (...held: XdsResource[]): XdsResponse => ({ type: 'Cluster', nonce: '1', resources: held, removed: [] });
    const before = encoder.encode(given(first, second)).bytes;
    expect(encoder.encode(given(first, third)).bytes).not.toEqual(before);
    expect(encoder.encode(given(second, third)).bytes).not.toEqual(before);
  });

  it('encodes once what several proxies get', () => {
    const encoder = new ResponseEncoder('one');
    const given = (): XdsResponse => ({ type: 'Cluster', nonce: '1', resources: [...resources], removed: [] });
    expect(encoder.encode(given())).toBe(encoder.encode(given()));
  });
});
