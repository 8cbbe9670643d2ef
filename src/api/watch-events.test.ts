import { describe, expect, it } from 'vitest';
import { following } from '../../test/support/following.ts';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { TinyStore } from '../../test/support/tiny-store.ts';
import type { ResourceKey } from '../resource/types.ts';
import { MAX_ROWS, rowOf, rowsOf, watchEvents } from './watch-events.ts';

/** Stores one Dataplane more than a watch follows, and returns the name of the last one. */
async function fill(store: TinyStore): Promise<string> {
  const names = Array.from({ length: MAX_ROWS + 1 }, (_, index) => `web-${String(index).padStart(5, '0')}`);
  await store.writeBatch(
    names.map((name) => ({ op: 'create', key: { type: 'Dataplane', mesh: 'shop', name }, labels: {}, spec: {} })),
  );
  return names.at(-1) ?? '';
}

describe('a watch', () => {
  it('ends with an error when it cannot follow all rows, so that no change is lost silently', async () => {
    const store = new TinyStore();
    const last = await fill(store);
    const filter = { where: { type: 'Dataplane', mesh: 'shop' }, matches: ({ name }: { name: string }) => name === last };
    const options = { store, clock: new ManualClock(), log: following.log, heartbeatMs: 1_000 };
    const events = watchEvents(rowsOf(filter), options, new AbortController().signal);
    await expect(events.next()).rejects.toMatchObject({ code: 'too_large' });
  });

  it('of one item reads that row alone, however many names contain its name', async () => {
    const store = new TinyStore();
    await fill(store);
    const key = { type: 'Dataplane', mesh: 'shop', name: 'web' };
    await store.write({ op: 'create', key, labels: {}, spec: {} });
    const end = new AbortController();
    const events = watchEvents(rowOf(key), { store, ...following, heartbeatMs: 1_000 }, end.signal);
    expect((await events.next()).value).toMatchObject({ kind: 'put', row: { name: 'web' } });
    expect((await events.next()).value).toEqual({ kind: 'synced' });
    await store.write({ op: 'delete', key: { ...key, name: 'web-00000' } });
    await store.write({ op: 'delete', key });
    expect((await events.next()).value).toEqual({ kind: 'delete', key });
    end.abort();
    await events.return(undefined);
  });

  it('reports a row whose content alone changed, and no row that did not change', async () => {
    const store = new TinyStore();
    const end = new AbortController();
    const keyOf = (name: string): ResourceKey => ({ type: 'MeshTimeout', mesh: 'shop', name });
    for (const name of ['changed', 'same']) await store.write({ op: 'create', key: keyOf(name), labels: {}, spec: { n: 1 } });
    const filter = { where: { type: 'MeshTimeout' }, matches: null };
    const options = { store, clock: new ManualClock(), log: following.log, heartbeatMs: 1_000 };
    const events = watchEvents(rowsOf(filter), options, end.signal);
    const kinds = ['put', 'put', 'synced'];
    for (const kind of kinds) expect((await events.next()).value).toMatchObject({ kind });
    // Another program writes so: the version stays.
    const restoreFeed = store.loseFeed();
    for (const [id, row] of store.rows) store.rows.set(id, { ...row, spec: { n: row.name === 'changed' ? 2 : 1 } });
    restoreFeed();
    expect((await events.next()).value).toMatchObject({ kind: 'put', row: { name: 'changed', spec: { n: 2 } } });
    expect((await events.next()).value).toEqual({ kind: 'synced' });
    end.abort();
    await events.return(undefined);
  });

  it('reports insights of zones, which have a channel of their own', async () => {
    const store = new TinyStore().withZones('east');
    const end = new AbortController();
    const filter = { where: { type: 'ZoneInsight', mesh: '' }, matches: () => true };
    const options = { store, clock: new ManualClock(), log: following.log, heartbeatMs: 1_000 };
    const events = watchEvents(rowsOf(filter), options, end.signal);
    expect(JSON.stringify(await events.next())).not.toContain('east');
    const next = events.next();
    await store.write({ op: 'create', key: { type: 'ZoneInsight', mesh: '', name: 'east' }, labels: {}, spec: {} });
    expect(JSON.stringify(await next)).toContain('east');
    end.abort();
    await events.return(undefined);
  });
});
