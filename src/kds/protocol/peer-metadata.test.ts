import { Metadata } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import { callerOf, ownFeatures } from './peer-metadata.ts';

function metadataOf(...headers: readonly (readonly [name: string, value: string])[]): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of headers) metadata.add(name, value);
  return metadata;
}

it('callerOf reads the zone, its features, its store id and all its tokens', () => {
  const metadata = metadataOf(
    ...([['client-id', 'east'], ['features', 'a, b'], ['features', 'c'], ['store-id', 'A-1'], ['authorization', 'Bearer x']] as const), // oxfmt-ignore
    ['authorization', 'Bearer y'],
  );
  expect(callerOf(metadata)).toEqual({
    ...{ zone: 'east', features: ['a', 'b', 'c'], storeId: 'A-1', authorization: ['Bearer x', 'Bearer y'] },
  });
  expect(callerOf(metadataOf(['client-id', 'east']))).toEqual({ zone: 'east', features: [], storeId: null, authorization: [] });
});

it.each([
  ['without a zone', []],
  ['with an empty zone', [['client-id', '']]],
] as const)('callerOf refuses a call %s', (_, headers) => {
  expect(() => callerOf(metadataOf(...headers))).toThrow('"client-id" is not present in metadata');
});

it.each([
  ['two', ['a', 'b'], false],
  ['an empty one', [''], false],
  ['one with another character', ['a_b'], false],
  ['one of 65 characters', ['a'.repeat(65)], false],
  ['one of 64 characters', ['a'.repeat(64)], true],
] as const)('callerOf accepts one valid store id: %s', (_, ids, isGood) => {
  const call = (): unknown => callerOf(metadataOf(['client-id', 'east'], ...ids.map((id) => ['store-id', id] as const)));
  if (isGood) expect(call()).toMatchObject({ storeId: ids[0] });
  else expect(call).toThrow('"store-id" in metadata must be one id');
});

it('ownFeatures announce that this side is Meridian', () => {
  expect(ownFeatures().get('features')).toEqual([
    'meridian-v1',
    'meridian-bundles',
    'meridian-in-step',
    'meridian-one-admin-stream',
  ]);
});
