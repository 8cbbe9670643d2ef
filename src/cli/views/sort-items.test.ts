import { describe, expect, it } from 'vitest';
import type { Item } from '../client/api-client.ts';
import { sortedBy } from './sort-items.ts';

function itemOf(name: string, more: Partial<Item> = {}): Item {
  return { type: 'MeshTimeout', mesh: 'shop', name, ...more };
}

function names(items: readonly Item[], field: string): string[] {
  return sortedBy(items, field).map(({ name }) => name);
}

describe('--sort-by', () => {
  const items = [
    itemOf('web-10', { creationTime: '2026-01-02T00:00:00Z', spec: { ports: [{ port: 80 }] }, labels: { 'kuma.io/zone': 'b' } }),
    itemOf('web-2', { creationTime: '2026-01-03T00:00:00Z', spec: { ports: [{ port: 9 }] }, labels: { 'kuma.io/zone': 'a' } }),
    itemOf('api', { creationTime: '2026-01-01T00:00:00Z' }),
  ];

  it.each([
    ['name', ['api', 'web-2', 'web-10']],
    ['creationTime', ['api', 'web-10', 'web-2']],
    ['.metadata.creationTimestamp', ['api', 'web-10', 'web-2']],
    ['{.metadata.name}', ['api', 'web-2', 'web-10']],
    ['spec.ports.0.port', ['web-2', 'web-10', 'api']],
    ['labels.kuma.io/zone', ['web-2', 'web-10', 'api']],
  ])('%s', (field, expected) => {
    expect(names(items, field)).toEqual(expected);
  });

  it('keeps the order of equal values', () => {
    expect(names(items, 'mesh')).toEqual(['web-10', 'web-2', 'api']);
  });

  it('of no resources is no resources', () => {
    expect(sortedBy([], 'nosuch')).toEqual([]);
  });

  it('refuses a field that no resource has, and one that is not a single value', () => {
    expect(() => sortedBy(items, 'nosuch')).toThrow('no resource has the field "nosuch"');
    expect(() => sortedBy(items, 'constructor')).toThrow('no resource has the field "constructor"');
    expect(() => sortedBy(items, 'spec.ports')).toThrow('"spec.ports" has other fields');
  });
});
