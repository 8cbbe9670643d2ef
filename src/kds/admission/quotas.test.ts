import { expect, it, vi } from 'vitest';
import type { Write } from '../../store/resource-store.ts';
import { RowQuota, waitsForFullState } from './quotas.ts';

const keyOf = (name: string): Write['key'] => ({ type: 'MeshService', mesh: 'default', name });
const create = (name: string): Write => ({ op: 'create', key: keyOf(name), labels: {}, spec: {} });
const update = (name: string): Write => ({ op: 'update', key: keyOf(name), labels: {}, spec: {} });
const names = (writes: readonly Write[]): string[] => writes.map(({ key }) => key.name);

it('the quota admits creations up to the limit, and all other writes', async () => {
  const count = vi.fn(async () => 3);
  const quota = new RowQuota(5, count);
  expect(await quota.admit([update('a')])).toEqual({ admitted: [update('a')], refused: [] });
  expect(count).not.toHaveBeenCalled();
  expect((await quota.admit([create('b'), create('c')])).refused).toEqual([]);
  const { admitted, refused } = await quota.admit([create('b'), update('a'), create('c'), create('d'), update('e')]);
  expect(names(admitted)).toEqual(['b', 'a', 'c', 'e']);
  expect(refused).toEqual([
    {
      ...keyOf('d'),
      reason:
        'the zone has 3 resources on global, which takes 5; delete some, or raise multizone.global.kds.quotas.rows on global',
    },
  ]);
  expect(count).toHaveBeenCalledOnce();
});

it('the quota counts created and deleted rows', async () => {
  const quota = new RowQuota(2, async () => 1);
  const creationTime = new Date(0);
  quota.stored([{ result: 'created', version: 0, creationTime }]);
  expect((await quota.admit([create('a')])).refused).toEqual([]);
  quota.stored([
    { result: 'created', version: 0, creationTime },
    { result: 'updated', version: 3, creationTime },
  ]);
  expect(names((await quota.admit([create('b')])).admitted)).toEqual([]);
  quota.stored([{ result: 'deleted', version: 1 }]);
  expect(names((await quota.admit([create('b')])).admitted)).toEqual(['b']);
});

it('the reason for a wait names the seconds and the settings', () => {
  expect(waitsForFullState(6_001)).toMatch(/in 7 s.*quotas\.fullStates and fullStateInterval/);
});
