import { describe, expect, it } from 'vitest';
import type { ResourceKey } from '../resource/types.ts';
import { OwnWrites, type WrittenRow } from './own-writes.ts';

function key(name: string): ResourceKey {
  return { type: 'MeshTimeout', mesh: 'default', name };
}

function written(xid: string, name: string, version = 0): WrittenRow {
  const json = { labels: '{}', spec: '{}', status: '{}' };
  const owner = { owner_type: null, owner_mesh: null, owner_name: null };
  const time = '2026-01-01 00:00:00';
  return { xid, row: { ...key(name), ...json, ...owner, version, sync_version: null, created: time, modified: time } };
}

describe('the rows that this process has written', () => {
  it('are found by the change that the feed told of, and by no other', () => {
    const own = new OwnWrites();
    own.keep([written('7', 'a'), written('7', 'b')]);
    own.keep([written('8', 'b', 1)]);
    expect(own.find({ ...key('a'), xid: '7' })).toMatchObject({ name: 'a' });
    expect(own.find({ ...key('b'), xid: '8' })).toMatchObject({ name: 'b', version: 1 });
    expect(own.find({ ...key('b'), xid: '7' })).toBeUndefined();
    expect(own.find(key('a'))).toBeUndefined();
    expect(own.find({ ...key('a'), type: 'MeshRetry', xid: '7' })).toBeUndefined();
  });

  it('are out of date when the feed tells of another transaction, or may have missed one', () => {
    const own = new OwnWrites();
    own.keep([written('7', 'a'), written('7', 'b'), written('7', 'c')]);
    own.heard({ ...key('a'), xid: '7' });
    own.heard({ ...key('b'), xid: '9' });
    own.heard(key('c'));
    expect(own.find({ ...key('a'), xid: '7' })).toBeDefined();
    expect(own.find({ ...key('b'), xid: '7' })).toBeUndefined();
    expect(own.find({ ...key('c'), xid: '7' })).toBeUndefined();
    own.clear();
    expect(own.find({ ...key('a'), xid: '7' })).toBeUndefined();
  });

  it('are kept as far as a transaction tells by key, the last ones', () => {
    const own = new OwnWrites();
    const rows = Array.from({ length: 1_001 }, (_, index) => written('7', String(index)));
    own.keep(rows);
    expect(own.find({ ...key('0'), xid: '7' })).toBeUndefined();
    expect(own.find({ ...key('1'), xid: '7' })).toBeDefined();
    expect(own.find({ ...key('1000'), xid: '7' })).toBeDefined();
  });
});
