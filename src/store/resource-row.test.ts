// A row of the table as the store returns it.
import { expect, it } from 'vitest';
import { canExist, metaOf, resourceOf, type Row } from './resource-row.ts';

const row: Row = {
  ...{ type: 'MeshTimeout', mesh: 'default', name: 'a', version: 3, labels: '{"app":"x"}', sync_version: 'v1' },
  ...{ owner_type: 'Mesh', owner_mesh: '', owner_name: 'default', spec: '{"to":[]}', status: '{"conditions":[]}' },
  ...{ created: '2026-01-01 00:00:00', modified: '2026-01-02 03:04:05.678' },
};
const meta = {
  ...{ type: 'MeshTimeout', mesh: 'default', name: 'a', version: 3, labels: { app: 'x' }, syncVersion: 'v1' },
  owner: { type: 'Mesh', mesh: '', name: 'default' },
  modificationTime: new Date('2026-01-02T03:04:05.678Z'),
};

it('a row has its key, version, labels and owner, its documents, and its times in UTC', () => {
  expect(metaOf(row)).toEqual(meta);
  expect(resourceOf(row)).toEqual({
    ...{ ...meta, spec: { to: [] }, status: { conditions: [] } },
    creationTime: new Date('2026-01-01T00:00:00Z'),
  });
});

it('a row without an owner has none, and an owner of an old row has empty texts in place of NULL', () => {
  expect(metaOf({ ...row, owner_type: null, owner_mesh: null, owner_name: null }).owner).toBeNull();
  expect(metaOf({ ...row, owner_mesh: null, owner_name: null }).owner).toEqual({ type: 'Mesh', mesh: '', name: '' });
});

it.each([null, '', 'null'])('the document %j of an old row is an empty object', (text) => {
  const { labels, spec, status } = resourceOf({ ...row, labels: text, spec: text ?? '', status: text });
  expect([labels, spec, status]).toEqual([{}, {}, {}]);
});

it.each(['type', 'mesh', 'name'] as const)('a key with a zero byte in its %s cannot exist', (field) => {
  const key = { type: 'MeshTimeout', mesh: 'default', name: 'a' };
  expect([canExist(key), canExist({ ...key, [field]: 'a\0' })]).toEqual([true, false]);
});
