// The contract of the time of creation: each write that stores a row names it, and an update or a deletion may ask for it.
import { describe, expect, it } from 'vitest';
import type { ResourceKey } from '../../src/resource/types.ts';
import type { ResourceStore, Write } from '../../src/store/resource-store.ts';

const keyOf = (name: string): ResourceKey => ({ type: 'MeshTimeout', mesh: 'default', name });
const write = (op: 'create' | 'put' | 'update', name: string): Write => ({ op, key: keyOf(name), labels: {}, spec: {} });

export function creationContract(current: () => ResourceStore): void {
  describe('the time of creation', () => {
    it('is in the outcome of each write that stores a row, alone and in a batch', async () => {
      const store = current();
      await store.write(write('create', 'z'));
      const times: unknown[] = [];
      for (const op of ['create', 'update', 'put'] as const) {
        const alone = await store.write(write(op, 'a'));
        const [one, other] = await store.writeBatch([write(op, 'b'), write(op, 'c')]);
        times.push(
          ...[alone, one, other].map((outcome) => outcome !== undefined && 'creationTime' in outcome && outcome.creationTime),
        );
      }
      const stored = (await store.getMany(['a', 'b', 'c'].map(keyOf))).toSorted((a, b) => a.name.localeCompare(b.name));
      const created = stored.map(({ creationTime }) => creationTime);
      expect(times).toEqual([...created, ...created, ...created]);
    });

    it('may be asked for, and an update or a deletion of a row of another time fails', async () => {
      const store = current();
      await store.writeBatch([write('create', 'a'), write('create', 'b')]);
      const expectCreation = (await store.get(keyOf('a')))?.creationTime ?? new Date(0);
      const other = new Date(expectCreation.getTime() + 1);
      const update = { ...write('update', 'a'), op: 'update' as const, labels: {}, spec: {} };
      const remove = { op: 'delete' as const, key: keyOf('a') };
      for (const one of [update, remove]) {
        expect(await store.write({ ...one, expectCreation: other })).toEqual({ result: 'conflict' });
        const [refused, rest] = await store.writeBatch([{ ...one, expectCreation: other }, write('update', 'b')]);
        expect([refused?.result, rest?.result]).toEqual(['conflict', 'updated']);
      }
      expect((await store.write({ ...update, expectCreation })).result).toBe('updated');
      const [again] = await store.writeBatch([{ ...update, expectCreation }, write('update', 'b')]);
      expect(again).toMatchObject({ result: 'updated', version: 2 });
      expect((await store.write({ ...remove, expectCreation })).result).toBe('deleted');
    });
  });
}
