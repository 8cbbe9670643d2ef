import { describe, expect, it } from 'vitest';
import { resourceTypes } from '../../resource/type-registry.ts';
import type { Item } from '../client/api-client.ts';
import { columnsOf } from './columns.ts';
import { table } from './table.ts';

/** Names as long as those of the examples. */
function itemOf(type: string): Item {
  return {
    type,
    mesh: 'shop',
    name: 'checkout-service-2c4zd4d4x7f9vwd6',
    modificationTime: new Date(0).toISOString(),
    labels: { 'kuma.io/display-name': 'checkout-service', 'kuma.io/zone': 'east', 'kuma.io/origin': 'global' },
    networking: { address: '10.0.12.34' },
    spec: { ports: [{ port: 8080, appProtocol: 'http' }], zoneIngress: { address: '10.0.12.34', port: 10001 } },
  };
}

describe('tables of resources', () => {
  it.each(resourceTypes.filter(({ path }) => path !== '').map((info) => [info.name, info] as const))(
    'of %s fit 80 columns and end without blanks',
    (name, info) => {
      const columns = columnsOf(info, { wide: false });
      const lines = table(
        columns.map(({ head }) => head),
        [columns.map(({ of }) => of(itemOf(name)))],
      ).split('\n');
      expect(lines).toHaveLength(2);
      for (const line of lines) {
        expect(line.length).toBeLessThanOrEqual(80);
        expect(line).toBe(line.trimEnd());
      }
    },
  );

  it('show stored names and labels when wide', () => {
    const info = resourceTypes.find(({ name }) => name === 'MeshTimeout');
    const heads = info === undefined ? [] : columnsOf(info, { wide: true }).map(({ head }) => head);
    expect(heads).toEqual(['MESH', 'NAME', 'ZONE', 'ORIGIN', 'STORED NAME', 'AGE', 'LABELS']);
  });
});
