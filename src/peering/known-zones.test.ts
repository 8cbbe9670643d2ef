import { describe, expect, it, vi } from 'vitest';
import { following } from '../../test/support/following.ts';
import { TinyStore } from '../../test/support/tiny-store.ts';
import { ANY_ZONE } from '../resource/zone-profile.ts';
import type { Labels } from '../resource/types.ts';
import { KnownZones } from './known-zones.ts';

const zone = (name: string) => ({ type: 'Zone', mesh: '', name });

async function setUp(flags: Record<string, boolean | undefined> = {}) {
  const store = new TinyStore();
  const put = (name: string, enabled?: boolean) =>
    store.write({ op: 'put', key: zone(name), labels: {}, spec: enabled === undefined ? {} : { enabled } });
  for (const [name, enabled] of Object.entries(flags)) await put(name, enabled);
  const registry = new KnownZones(store, following);
  const changes: string[] = [];
  const unsubscribe = registry.onChange(({ zone: name }) => changes.push(`${name} ${registry.profileOf(name).isEnabled}`));
  const stop = new AbortController();
  const running = registry.run(stop.signal);
  await registry.loaded;
  return { store, put, registry, changes, unsubscribe, end: () => (stop.abort(), running) };
}

describe('KnownZones', () => {
  it('has the enabled flags after the load, and reports only disabled zones', async () => {
    const { registry, changes, end } = await setUp({ east: true, west: false, north: undefined });
    expect(['east', 'west', 'north', 'unknown'].map((name) => registry.profileOf(name).isEnabled)).toEqual([
      true,
      false,
      true,
      true,
    ]);
    expect(changes).toEqual(['west false']);
    expect(registry.names().sort()).toEqual(['east', 'north', 'west']);
    await end();
  });

  it('reports a zone that is disabled, enabled, created and deleted, after the flag has changed', async () => {
    const { store, put, changes, unsubscribe, end } = await setUp({ east: true });
    await put('east', false);
    await vi.waitFor(() => expect(changes).toEqual(['east false']));
    await put('east', true);
    await put('south');
    await vi.waitFor(() => expect(changes).toEqual(['east false', 'east true', 'south true']));
    await put('east');
    await store.write({ op: 'delete', key: zone('south') });
    await vi.waitFor(() => expect(changes).toHaveLength(4));
    expect(changes.at(-1)).toBe('south true');
    unsubscribe();
    await end();
  });

  it('reports a zone whose meshes or labels change, to all listeners and to those of the zone alone', async () => {
    const { store, registry, changes, end } = await setUp({ east: true, west: true });
    const watched: unknown[] = [];
    const stopWatching = registry.watch('east', ({ before, after }) =>
      watched.push([before.meshes, after.meshes && [...after.meshes], after.labels]),
    );
    const put = (name: string, labels: Labels, meshes?: string[]) =>
      store.write({ op: 'put', key: zone(name), labels, spec: { enabled: true, ...(meshes && { meshes }) } });
    await put('west', {}, ['shop']);
    await put('east', {}, ['shop']);
    await registry.caughtUp();
    await put('east', { region: 'eu' }, ['shop']);
    await registry.caughtUp();
    expect(changes).toEqual(['west true', 'east true', 'east true']);
    expect(watched.at(-1)).toEqual([new Set(['shop']), ['shop'], { region: 'eu' }]);
    // Nothing that a profile says has changed.
    await put('east', { region: 'eu' }, ['shop']);
    await registry.caughtUp();
    expect(changes).toHaveLength(3);
    stopWatching();
    await put('east', {});
    await registry.caughtUp();
    expect(watched.at(-1)).toEqual([new Set(['shop']), ['shop'], { region: 'eu' }]);
    expect(registry.profileOf('east')).toEqual(ANY_ZONE);
    await end();
  });

  it('does not tell the streams of a deleted zone that it is a member of every mesh', async () => {
    const { store, registry, changes, end } = await setUp({ east: true });
    await store.write({ op: 'put', key: zone('east'), labels: {}, spec: { enabled: true, meshes: ['shop'] } });
    await registry.caughtUp();
    const watched: string[] = [];
    registry.watch('east', (change) => watched.push(change.zone));
    await store.write({ op: 'delete', key: zone('east') });
    await vi.waitFor(() => expect(changes).toHaveLength(2));
    expect(watched).toEqual([]);
    await end();
  });

  it('reports a deleted row, also when a new row has its name at the next read', async () => {
    const { store, put, registry, end } = await setUp({ east: true, west: true });
    const gone: string[] = [];
    registry.onGone((name) => gone.push(name));
    await put('west', false);
    await store.write({ op: 'delete', key: zone('west') });
    await vi.waitFor(() => expect(gone).toEqual(['west']));
    const [[id, row] = []] = [...store.rows].filter(([, { name }]) => name === 'east');
    if (id === undefined || row === undefined) throw new Error('no row of Zone east');
    store.rows.set(id, { ...row, creationTime: new Date(1) });
    await put('east', true);
    await vi.waitFor(() => expect(gone).toEqual(['west', 'east']));
    await end();
  });

  it('creates a missing zone and leaves an existing one unchanged', async () => {
    const { store, registry, end } = await setUp({ west: false });
    await registry.ensure('east');
    await registry.ensure('west');
    expect(await store.get(zone('east'))).toMatchObject({ labels: {}, spec: { enabled: true } });
    expect(await store.get(zone('west'))).toMatchObject({ spec: { enabled: false }, version: 0 });
    await end();
  });

  it.each(['', 'East', '1zone', '-a', 'a-', 'a.b', 'a_b', 'a'.repeat(64), 'é'])('refuses %j as a name', async (name) => {
    const { store, registry, end } = await setUp();
    await expect(registry.ensure(name)).rejects.toMatchObject({ code: 'invalid', violations: [{ field: 'name' }] });
    expect(store.rows.size).toBe(0);
    await end();
  });

  it.each(['a', 'z1', 'a'.repeat(63), 'us-east-1'])('accepts %j as a name', async (name) => {
    const { store, registry, end } = await setUp();
    await registry.ensure(name);
    expect([...store.rows.values()].map((row) => row.name)).toEqual([name]);
    await end();
  });
});
