// What a soak holds control planes to: writes that they acknowledged.
import { describe, expect, it } from 'vitest';
import { Acknowledged } from './acknowledged.ts';

describe('acknowledged writes', () => {
  it('are kept when the store has the last of them', () => {
    const writes = new Acknowledged();
    writes.take('a', 1, 201);
    writes.take('a', 2, 200);
    writes.take('b', 5, 201);
    writes.take('b', null, 200);
    writes.take('c', null, 404);
    expect(writes.broken(new Map([['a', 2]]))).toEqual([]);
    expect(writes.size).toBe(3);
  });

  it('are broken when the store lacks one, has an older one, or has a removed one', () => {
    const writes = new Acknowledged();
    writes.take('lost', 1, 201);
    writes.take('old', 2, 200);
    writes.take('back', null, 200);
    const stored = new Map([
      ['old', 1],
      ['back', 7],
    ]);
    expect(writes.broken(stored)).toEqual([
      'lost is absent, but revision 1 was acknowledged',
      'old is revision 1, but revision 2 was acknowledged',
      'back is revision 7, but absent was acknowledged',
    ]);
  });

  it('do not count after a write without an answer', () => {
    const writes = new Acknowledged();
    writes.take('a', 1, 201);
    writes.take('a', 2, 0);
    writes.take('b', 1, 503);
    expect(writes.size).toBe(0);
    expect(writes.broken(new Map([['a', 2]]))).toEqual([]);
    writes.take('a', 3, 200);
    expect(writes.broken(new Map([['a', 2]]))).toHaveLength(1);
  });
});
