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

  it('reads a row once for all indexes that hold it', () => {
    const policy = makeTo('MeshTimeout', 'p', MESH, {});
    const index = new MeshIndex('default', [makeDataplane('d'), policy]);
    const copy = index.copy((row) => row);
    expect([copy.policyOf(policy), copy.proxy('d')]).toEqual([index.policyOf(policy), index.proxy('d')]);
    expect(copy.policyOf(policy)).toBe(index.policyOf(policy));
    expect(copy.proxy('d')).toBe(index.proxy('d'));
    const next = { ...policy };
    copy.put(next);
    expect(copy.policyOf(next)?.serial).not.toBe(index.policyOf(policy)?.serial);
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
    expect(changesOf(() => index.disableZones(new Set(['west', 'east'])))).toEqual([true, true]);
    expect(changesOf(() => index.disableZones(new Set(['north', 'east'])))).toEqual([true, true]);
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

  it('is copied with each row edited, and with its disabled zones', () => {
    const index = new MeshIndex('default', [makeService('a', { zone: 'east' }), makeDataplane('d')]);
    index.disableZones(new Set(['east']));
    const copy = index.copy((row) => ({ ...row, version: 7 }));
    expect([...copy.resources('MeshService'), ...copy.resources('Dataplane')].map(({ version }) => version)).toEqual([7, 7]);
    expect([copy.isDisabled('east'), copy.isDisabled('west')]).toEqual([true, false]);
    expect([...index.resources('MeshService')].map(({ version }) => version)).toEqual([0]);
  });

  it('counts and finds what it has of a type, and nothing of another type', () => {
    const service = makeService('a');
    const index = new MeshIndex('default', [service, makeService('b')]);
    expect(['MeshService', 'Dataplane'].map((type) => index.count(type))).toEqual([2, 0]);
    expect(index.withKri('MeshService', 'kri_msvc_default___a_')).toBe(service);
    expect(index.withKri('Dataplane', 'kri_msvc_default___a_')).toBeUndefined();
    expect(index.kriOf(service)).toBe('kri_msvc_default___a_');
    expect(index.kriOf(make('MeshTimeout', 'never-put', {}))).toBe('kri_mt_default___never-put_');
  });

  it('has services that the control plane of a zone has', () => {
    const index = new MeshIndex('default', [
      makeService('a', { zone: 'east' }),
      make('MeshExternalService', 'b', {}, { zone: 'east' }),
    ]);
    const seen = (type: string, zone: string): string[] => [...index.visible(type, zone)].map(({ name }) => name);
    expect([seen('MeshService', 'west'), seen('MeshExternalService', 'west')]).toEqual([['a.east'], []]);
    expect([seen('MeshExternalService', 'east'), seen('MeshExternalService', '')]).toEqual([['b.east'], ['b.east']]);
    index.disableZones(new Set(['east']));
    expect([seen('MeshService', 'west'), seen('MeshService', 'east')]).toEqual([[], ['a.east']]);
  });

  it('knows the types with policies on routes, as long as there are such policies', () => {
    const onRoute = (name: string): ReturnType<typeof make> =>
      makeTo('MeshTimeout', name, MESH, {}, {}, { kind: 'MeshHTTPRoute', name: 'r' });
    const index = new MeshIndex('default', [makeTo('MeshRetry', 'p', MESH, {}), onRoute('p'), onRoute('q')]);
    expect(index.typesOnRoutes()).toEqual(['MeshTimeout']);
    index.remove({ type: 'MeshTimeout', mesh: 'default', name: 'p' });
    expect(index.typesOnRoutes()).toEqual(['MeshTimeout']);
    index.put(makeTo('MeshTimeout', 'q', MESH, {}));
    expect(index.typesOnRoutes()).toEqual([]);
  });

  it('names policies whose route does not exist', () => {
    const index = new MeshIndex('default', [
      makeDataplane('d'),
      makeTo('MeshTimeout', 'lost', MESH, {}, {}, { kind: 'MeshHTTPRoute', name: 'none' }),
      makeTo('MeshTimeout', 'other', MESH, {}, {}, { kind: 'Dataplane', name: 'e' }),
    ]);
    const [proxy] = index.proxies();
    if (proxy === undefined) throw new Error('no proxy');
    const { selected, unresolved } = index.matching('MeshTimeout', proxy);
    expect([selected.size, unresolved.map(({ displayName }) => displayName)]).toEqual([0, ['lost']]);
  });

  it('has the same missing Mesh, of time 0 and without content', () => {
    expect(new MeshIndex('shop').meshResource()).toEqual(makeRow('Mesh', 'shop'));
  });
});
