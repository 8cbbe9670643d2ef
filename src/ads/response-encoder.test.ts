import { describe, expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import { TYPE_URL_PREFIX } from '../wire/any.ts';
import { decodeDeltaResponse, encodeResourceEntry } from '../wire/kds-messages.ts';
import { XDS_MESSAGES } from './encode-resources.ts';
import { ResponseEncoder } from './response-encoder.ts';
import { XDS_TYPES, type XdsResource, type XdsResponse } from './session-messages.ts';

const resources = ['a', 'b', 'a', 'large'].map((name, index): XdsResource => {
  const version = String(index);
  const kumaResource = Buffer.alloc(name === 'large' ? 20_000 : 1, index);
  return { name, version, bytes: encodeResourceEntry({ name, version, typeUrl: 'x', kumaResource }) };
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
          const { resources: found, ...rest } = decodeDeltaResponse(Buffer.concat(encoded.parts));
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
    const before = encoder.encode(given(first, second)).parts;
    expect(encoder.encode(given(first, third)).parts).not.toEqual(before);
    expect(encoder.encode(given(second, third)).parts).not.toEqual(before);
  });

  it('copies no large resource, and the others once for all nonces', () => {
    const encoder = new ResponseEncoder('one');
    const given = (nonce: string): XdsResponse => ({ type: 'Cluster', nonce, resources: [...resources], removed: [] });
    const [one, other] = [encoder.encode(given('1')).parts, encoder.encode(given('2')).parts];
    expect(one.filter((part) => part === resources[3]?.bytes)).toHaveLength(1);
    expect(other.slice(0, -1).every((part, at) => part === one[at])).toBe(true);
    expect(other).toHaveLength(one.length);
  });

  it('encodes once what several proxies get', () => {
    const encoder = new ResponseEncoder('one');
    const given = (): XdsResponse => ({ type: 'Cluster', nonce: '1', resources: [...resources], removed: [] });
    expect(encoder.encode(given())).toBe(encoder.encode(given()));
  });
});
