import { describe, expect, it } from 'vitest';
import { systemClock } from '../base/clock.ts';
import { TinyStore } from '../../test/support/tiny-store.ts';
import { clusterAdmission, decideCluster } from './cluster-guard.ts';

describe('decideCluster', () => {
  it.each([
    [null, 'a', 'first'],
    ['', 'a', 'first'],
    ['a', 'a', 'same'],
    ['a', 'b', 'other'],
    ['a', '', 'other'],
  ])('known %j, offered %j: %s', (known, offered, expected) => {
    expect(decideCluster(known, offered)).toBe(expected);
  });
});

describe('the admission of a global', () => {
  const key = { type: 'Config', mesh: '', name: 'kuma-cluster-id' };
  const labels = { 'kuma.io/origin': 'global' };
  const config = (id: string) => ({
    name: key.name,
    mesh: '',
    labels,
    spec: { config: id },
    status: undefined,
    bytes: 0,
    version: 'v',
  });

  it('accepts any global when the zone has no cluster id, or one that it made itself', async () => {
    const store = new TinyStore();
    expect(await clusterAdmission(store, 'grpc://g:1', systemClock)).toBeNull();
    await store.write({ op: 'create', key, labels: {}, spec: { config: 'own' } });
    expect(await clusterAdmission(store, 'grpc://g:1', systemClock)).toBeNull();
  });

  it('counts a cluster id that a Kuma control plane received, which is a copy without a version', async () => {
    const store = new TinyStore();
    await store.write({ op: 'create', key, labels, spec: { config: 'ours' } });
    const admission = await clusterAdmission(store, 'grpc://g:1', systemClock);
    await expect(admission?.check([config('theirs')])).rejects.toThrow(/"theirs".*"ours"/);
  });

  it('accepts the known cluster, and refuses another cluster or none with a remedy', async () => {
    const store = new TinyStore();
    await store.write({ op: 'create', key, labels, spec: { config: 'ours' }, syncVersion: 'v' });
    const admission = await clusterAdmission(store, 'grpc://g:1', systemClock);
    expect(admission?.type).toBe('Config');
    await expect(admission?.check([config('ours')])).resolves.toBeUndefined();
    await expect(admission?.check([config('theirs')])).rejects.toThrow(/"theirs".*"ours".*accept-global/);
    await expect(admission?.check([])).rejects.toThrow(/globalAddress/);
  });
});
