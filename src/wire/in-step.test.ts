// The bytes of the types in which a peer is in step.
import { expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import { encodeBundle, isBundle } from './bundle.ts';
import { decodeInStep, encodeInStep, isInStep } from './in-step.ts';
import { encodeDeltaRequest, encodeDeltaResponse } from './kds-messages.ts';

const text = fc.string({ minLength: 1, maxLength: 200, unit: 'grapheme' }).map((given) => given.toWellFormed());

it('types in step are read as they were written, in their order', () => {
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 40 }), (types) => {
      const bytes = encodeInStep(types);
      expect([isInStep(bytes), isBundle(bytes)]).toEqual([true, false]);
      expect(decodeInStep(bytes)).toEqual(types);
    }),
  );
});

it('no other message of a stream counts as types in step', () => {
  const request = encodeDeltaRequest({
    ...{ node: { id: 'east' }, typeUrl: 'Mesh', subscribe: ['*'], unsubscribe: [], initialResourceVersions: new Map() },
    ...{ responseNonce: '', errorDetail: null },
  });
  const response = encodeDeltaResponse({ typeUrl: 'Mesh', nonce: '1', controlPlane: 'east', entries: [], removed: [] });
  for (const bytes of [request, response, encodeBundle([encodeInStep(['Mesh'])]), Buffer.alloc(0)])
    expect(isInStep(bytes)).toBe(false);
});

it('broken types in step are refused', () => {
  const bytes = encodeInStep(['Mesh']);
  expect(() => decodeInStep(bytes.subarray(0, -1))).toThrow('a list of types in step');
});
