// Resources as bytes: what they keep in memory.
import { expect, it } from 'vitest';
import { emptyConfig } from '../xds/proxy-config.ts';
import { ResourceEncoder } from './encode-resources.ts';

it('a resource keeps its own bytes in memory, and nothing beside them', () => {
  const clusters = new Map([['own', { name: 'own', connectTimeout: '1s' }]]);
  const { resources } = new ResourceEncoder().part({ ...emptyConfig(), clusters });
  expect(resources.map(({ resource: { bytes } }) => bytes.buffer.byteLength - bytes.length)).toEqual([0]);
});
