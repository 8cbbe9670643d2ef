import { describe, expect, it } from 'vitest';
import { TinyStore } from '../../test/support/tiny-store.ts';
import { createZoneDefaults } from './zone-defaults.ts';

const all = { skipMeshCreation: false, skipTenantResources: false, skipHostnameGenerators: false };
const keys = (store: TinyStore): string[] => [...store.rows.values()].map((row) => `${row.type}/${row.name}`).sort();

describe('the defaults of a zone', () => {
  it('are its Zone and its HostnameGenerators when it has a global', async () => {
    const store = new TinyStore();
    await createZoneDefaults(store, { name: 'east', hasGlobal: true }, all);
    expect(keys(store)).toEqual([
      'HostnameGenerator/local-mesh-external-service',
      'HostnameGenerator/local-universal-mesh-service',
      'Zone/east',
    ]);
    expect(await store.get({ type: 'HostnameGenerator', mesh: '', name: 'local-universal-mesh-service' })).toMatchObject({
      labels: { 'kuma.io/origin': 'zone' },
      spec: {
        selector: { meshService: { matchLabels: { 'kuma.io/origin': 'zone' } } },
        template: '{{ .DisplayName }}.svc.mesh.local',
      },
    });
    expect(await store.get({ type: 'Zone', mesh: '', name: 'east' })).toMatchObject({ labels: {}, spec: {} });
  });

  it('delete Zone rows with other names, keep its own Zone row, and do not recreate deleted rows', async () => {
    const store = new TinyStore();
    for (const name of ['old', 'east'])
      await store.write({ op: 'create', key: { type: 'Zone', mesh: '', name }, labels: {}, spec: { enabled: true } });
    await createZoneDefaults(store, { name: 'east', hasGlobal: true }, all);
    expect(keys(store)).toEqual(['Zone/east']);
    expect(await store.get({ type: 'Zone', mesh: '', name: 'east' })).toMatchObject({ spec: { enabled: true }, version: 0 });
  });

  it.each([
    ['drop the id of the cluster that the zone made when it was on its own', {}, undefined],
    ['keep the id of the cluster that a control plane of Kuma received', { 'kuma.io/origin': 'global' }, 'id'],
  ])('%s', async (_, labels, kept) => {
    const store = new TinyStore();
    const key = { type: 'Config', mesh: '', name: 'kuma-cluster-id' };
    await store.write({ op: 'create', key, labels, spec: { config: 'id' } });
    await createZoneDefaults(store, { name: 'east', hasGlobal: true }, all);
    expect((await store.get(key))?.spec['config']).toBe(kept);
  });

  it('include those of a global when it has no global, as resources of the zone', async () => {
    const store = new TinyStore();
    await createZoneDefaults(store, { name: 'east', hasGlobal: false }, all);
    expect(keys(store)).toEqual([
      'Config/kuma-cluster-id',
      'GlobalSecret/zone-token-signing-key-1',
      'HostnameGenerator/local-mesh-external-service',
      'HostnameGenerator/local-universal-mesh-service',
      'Mesh/default',
      'MeshCircuitBreaker/mesh-circuit-breaker-all-default',
      'MeshRetry/mesh-retry-all-default',
      'MeshTimeout/mesh-timeout-all-default',
      'MeshTimeout/mesh-timeout-to-all-default',
      'Secret/dataplane-token-signing-key-default-1',
      'Zone/east',
    ]);
    expect((await store.get({ type: 'MeshRetry', mesh: 'default', name: 'mesh-retry-all-default' }))?.labels).toEqual({
      'kuma.io/display-name': 'mesh-retry-all-default',
      'kuma.io/mesh': 'default',
      'kuma.io/origin': 'zone',
      'kuma.io/zone': 'east',
      'kuma.io/env': 'universal',
    });
  });
});
