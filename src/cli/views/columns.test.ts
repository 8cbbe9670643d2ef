import { describe, expect, it } from 'vitest';
import { resourceTypes, typeOf } from '../../resource/type-registry.ts';
import type { Item } from '../client/api-client.ts';
import { columnsOf } from './columns.ts';
import { itemTable, neededColumns, table } from './table.ts';

/** An item with names as long as those of the examples. */
function itemOf(type: string): Item {
  return {
    type,
    mesh: 'shop',
    name: 'checkout-service-2c4zd4d4x7f9vwd6',
    creationTime: new Date(0).toISOString(),
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
      const columns = neededColumns(columnsOf(info, { wide: false }), [itemOf(name)]);
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
    expect(heads).toEqual(['MESH', 'NAMESPACE', 'NAME', 'ZONE', 'ORIGIN', 'STORED NAME', 'UPDATED', 'AGE', 'LABELS']);
  });

  it('show the age since the creation, and the last change beside it', () => {
    const ago = (days: number): string => new Date(Date.now() - days * 86_400_000 - 1_000).toISOString();
    const item = { ...itemOf('MeshTimeout'), creationTime: ago(40), modificationTime: ago(2) };
    const cells = Object.fromEntries(columnsOf(typeOf('MeshTimeout'), { wide: false }).map(({ head, of }) => [head, of(item)]));
    expect(cells).toMatchObject({ AGE: '40d', UPDATED: '2d' });
  });

  it('show namespaces if some item has one', () => {
    const plain = itemOf('MeshTimeout');
    const spaced = { ...plain, labels: { ...plain.labels, 'k8s.kuma.io/namespace': 'payments' } };
    const columns = columnsOf(typeOf('MeshTimeout'), { wide: false });
    const drawn = (items: Item[]): string => itemTable(columns, items, { wide: false });
    expect(drawn([plain])).not.toContain('NAMESPACE');
    expect(drawn([plain, spaced])).toMatch(/^MESH +NAMESPACE +NAME.*\nshop +- +checkout-service .*\nshop +payments +checkout/);
  });
});
