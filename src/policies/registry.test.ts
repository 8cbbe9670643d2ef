import { expect, it } from 'vitest';
import { resourceTypes } from '../resource/type-registry.ts';
import { policyDefinitions } from './registry.ts';

it('the registry has every policy type, in the order of the table of types', () => {
  const types = resourceTypes.filter(({ policy }) => policy !== null);
  const inOrder = types.toSorted((a, b) => (a.policy?.order ?? 0) - (b.policy?.order ?? 0)).map(({ name }) => name);
  expect(Object.keys(policyDefinitions)).toEqual(inOrder);
});
