import { createPrivateKey } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { defaultMeshRows } from '../../test/support/default-rows.ts';
import { TinyStore } from '../../test/support/tiny-store.ts';
import { createAbsent, meshDefaults } from './create-defaults.ts';
import { createGlobalDefaults } from './global-defaults.ts';

const all = { skipMeshCreation: false, skipTenantResources: false, skipHostnameGenerators: false };

function dump(store: TinyStore): Record<string, unknown> {
  return Object.fromEntries([...store.rows.values()].map((row) => [`${row.type}/${row.mesh}/${row.name}`, row]));
}

describe('the defaults of a global', () => {
  it('are those of kds-wire 9', async () => {
    const store = new TinyStore();
    await createGlobalDefaults(store, all);
    const rows = dump(store);
    expect(Object.keys(rows).sort()).toEqual([
      'Config//kuma-cluster-id',
      'GlobalSecret//zone-token-signing-key-1',
      'HostnameGenerator//synced-headless-kube-mesh-service',
      'HostnameGenerator//synced-kube-mesh-service',
      'HostnameGenerator//synced-mesh-external-service',
      'HostnameGenerator//synced-mesh-multi-zone-service',
      'HostnameGenerator//synced-universal-mesh-service',
      ...defaultMeshRows,
    ]);
    const owner = { type: 'Mesh', mesh: '', name: 'default' };
    expect(rows['Mesh//default']).toMatchObject({ labels: {}, spec: {}, owner: null });
    expect(rows['Secret/default/dataplane-token-signing-key-default-1']).toMatchObject({ labels: {}, owner });
    expect(rows['MeshRetry/default/mesh-retry-all-default']).toMatchObject({
      labels: { 'kuma.io/display-name': 'mesh-retry-all-default', 'kuma.io/mesh': 'default', 'kuma.io/origin': 'global' },
      spec: {
        targetRef: { kind: 'Mesh' },
        to: [
          {
            targetRef: { kind: 'Mesh' },
            default: {
              tcp: { maxConnectAttempt: 5 },
              http: {
                ...{ numRetries: 5, perTryTimeout: '16s', backOff: { baseInterval: '25ms', maxInterval: '250ms' } },
                hostSelection: [{ predicate: 'OmitPreviousHosts', updateFrequency: 2 }],
                hostSelectionMaxAttempts: 5,
              },
              grpc: { numRetries: 5, perTryTimeout: '16s', backOff: { baseInterval: '25ms', maxInterval: '250ms' } },
            },
          },
        ],
      },
      owner,
    });
    expect(rows['HostnameGenerator//synced-universal-mesh-service']).toMatchObject({
      labels: {},
      spec: {
        selector: { meshService: { matchLabels: { 'kuma.io/origin': 'global', 'kuma.io/env': 'universal' } } },
        template: '{{ .DisplayName }}.svc.{{ .Zone }}.mesh.local',
      },
    });
    expect(rows['Config//kuma-cluster-id']).toMatchObject({
      spec: { config: expect.stringMatching(/^[0-9a-f-]{36}$/) as string },
    });
  });

  it('holds signing keys as PKCS#1 PEM of 2048 bits', async () => {
    const store = new TinyStore();
    await createGlobalDefaults(store, { ...all, skipMeshCreation: true });
    const secret = await store.get({ type: 'GlobalSecret', mesh: '', name: 'zone-token-signing-key-1' });
    const pem = Buffer.from(String(secret?.spec['data']), 'base64').toString();
    expect(pem).toMatch(/^-----BEGIN RSA PRIVATE KEY-----\n/);
    expect(createPrivateKey(pem).asymmetricKeyDetails?.modulusLength).toBe(2048);
  });

  it('are created once: a second start changes nothing, and deleted rows stay deleted', async () => {
    const store = new TinyStore();
    await createGlobalDefaults(store, all);
    const before = dump(store);
    await createGlobalDefaults(store, all);
    expect(dump(store)).toEqual(before);
    await store.write({ op: 'delete', key: { type: 'HostnameGenerator', mesh: '', name: 'synced-kube-mesh-service' } });
    await store.write({ op: 'delete', key: { type: 'Mesh', mesh: '', name: 'default' } });
    await createGlobalDefaults(store, all);
    const gone = ['HostnameGenerator//synced-kube-mesh-service', ...defaultMeshRows];
    expect(Object.keys(dump(store)).sort()).toEqual(
      Object.keys(before)
        .filter((key) => !gone.includes(key))
        .sort(),
    );
  });

  it('are completed after an interrupted start', async () => {
    const store = new TinyStore();
    store.beforeWrite = (write) => {
      if (write.key.type === 'MeshRetry') throw new Error('connection lost');
      return undefined;
    };
    await expect(createGlobalDefaults(store, all)).rejects.toThrow('connection lost');
    store.beforeWrite = () => undefined;
    await createGlobalDefaults(store, all);
    expect(store.rows.size).toBe(13);
  });

  it('do not recreate the first key of a rotated series', async () => {
    const store = new TinyStore();
    await store.write({
      op: 'create',
      key: { type: 'GlobalSecret', mesh: '', name: 'zone-token-signing-key-2' },
      labels: {},
      spec: { data: '' },
    });
    await createGlobalDefaults(store, { ...all, skipMeshCreation: true, skipHostnameGenerators: true });
    expect(Object.keys(dump(store)).sort()).toEqual(['Config//kuma-cluster-id', 'GlobalSecret//zone-token-signing-key-2']);
  });

  it('are empty when tenant resources are skipped', async () => {
    const store = new TinyStore();
    await createGlobalDefaults(store, { ...all, skipTenantResources: true });
    expect(store.rows.size).toBe(0);
  });
});

describe('the set of a new mesh', () => {
  it.each([
    [['*'], 0],
    [['MeshTimeout'], 2],
    [['MeshRetry', 'MeshCircuitBreaker'], 2],
    [[], 4],
  ])('omits the skipped policies: %j', async (skipCreatingInitialPolicies, policies) => {
    const store = new TinyStore();
    await store.write({ op: 'create', key: { type: 'Mesh', mesh: '', name: 'pay' }, labels: {}, spec: {} });
    await createAbsent(
      store,
      await meshDefaults(store, { name: 'pay', spec: { skipCreatingInitialPolicies } }, { mode: 'global' }),
    );
    expect(store.rows.size).toBe(policies + 2);
    expect(await store.get({ type: 'Secret', mesh: 'pay', name: 'dataplane-token-signing-key-pay-1' })).toBeDefined();
  });
});
