import { describe, expect, it } from 'vitest';
import { make, makeDataplane, makeService, makeTo } from '../../test/policy/make-resource.ts';
import { makeRow } from '../../test/support/make-row.ts';
import { MeshIndex } from './mesh-index.ts';

const MESH = { kind: 'Mesh' };

describe('an index of a mesh', () => {
  it('returns its Mesh, and a default one if its own is missing', () => {
    const mesh = makeRow('Mesh', 'default', { labels: { team: 'a' } });
    const index = new MeshIndex('default', [mesh, makeRow('Mesh', 'other')]);
    expect(index.meshResource()).toBe(mesh);
    expect(index.get('Mesh', 'other')).toBeUndefined();
    index.remove({ type: 'Mesh', mesh: '', name: 'default' });
    expect(index.meshResource()).toMatchObject({ type: 'Mesh', mesh: '', name: 'default', labels: {}, version: 0 });
  });

  it('ignores the resources of another mesh, and the removal of one', () => {
    const index = new MeshIndex('default', [makeService('a'), makeService('b', { mesh: 'other' })]);
    index.remove({ type: 'MeshService', mesh: 'other', name: 'a' });
    expect([...index.resources('MeshService')].map(({ name }) => name)).toEqual(['a']);
  });

  it('drops deleted proxies, policies and services', () => {
    const policy = makeTo('MeshTimeout', 'p', MESH, {});
    const rows = [makeDataplane('d'), policy, makeService('s')];
    const index = new MeshIndex('default', rows);
    expect([index.proxy('d')?.displayName, index.policyOf(policy)?.displayName]).toEqual(['d', 'p']);
    for (const row of rows) index.remove(row);
    expect([...index.proxies(), index.proxy('d'), index.policyOf(policy), ...index.resources('MeshService')]).toEqual([
      undefined,
      undefined,
    ]);
  });

  it('changes only the revisions of types that a change can affect', () => {
    const index = new MeshIndex('default', [makeDataplane('d')]);
    const revisions = (): string[] => ['MeshTimeout', 'MeshRetry'].map((type) => index.revisionOf(type));
    const changesOf = (change: () => void): boolean[] => {
      const before = revisions();
      change();
      return revisions().map((revision, at) => revision !== before[at]);
    };
    expect(changesOf(() => index.put(makeTo('MeshTimeout', 'p', MESH, {})))).toEqual([true, false]);
    expect(changesOf(() => index.put(makeService('s')))).toEqual([true, true]);
    expect(changesOf(() => index.put(makeRow('Mesh', 'default')))).toEqual([true, true]);
    expect(changesOf(() => index.put(makeDataplane('e')))).toEqual([false, false]);
    expect(changesOf(() => index.put(make('MeshAccessLog', 'l', {})))).toEqual([false, false]);
    expect(changesOf(() => index.remove({ type: 'MeshTimeout', mesh: 'default', name: 'unknown' }))).toEqual([false, false]);
    expect(changesOf(() => index.remove({ type: 'MeshTimeout', mesh: 'default', name: 'p' }))).toEqual([true, false]);
    expect(changesOf(() => index.disableZones(new Set(['east'])))).toEqual([true, true]);
    expect(changesOf(() => index.disableZones(new Set(['east'])))).toEqual([false, false]);
    expect(changesOf(() => index.disableZones(new Set(['west'])))).toEqual([true, true]);
    expect(changesOf(() => index.disableZones(new Set()))).toEqual([true, true]);
    // Two changes are never without an effect together.
    for (const zones of [['east'], []])
      expect(
        changesOf(() => {
          index.disableZones(new Set(zones));
          index.put(makeService(`new-${String(zones.length)}`));
        }),
      ).toEqual([true, true]);
  });

  it('shares the policies of a disabled zone only with the proxies of that zone', () => {
    const policy = makeTo('MeshTimeout', 'p', MESH, {}, { zone: 'east', role: 'producer', namespace: 'shop' });
    const index = new MeshIndex('default', [policy]);
    const shared = (zone: string): string[] =>
      index.shared('MeshTimeout', { zone, origin: 'zone' }).map(({ displayName }) => displayName);
    expect([shared('east'), shared('west')]).toEqual([['p'], ['p']]);
    index.disableZones(new Set(['east']));
    expect([shared('east'), shared('west')]).toEqual([['p'], []]);
  });
});
