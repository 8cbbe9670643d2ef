// A store after an import: what its global finds there, and the tokens that the old global issued.
import { expect, describe, it } from 'vitest';
import { createGlobalDefaults } from '../../src/defaults/global-defaults.ts';
import { importPlan, type ImportPlan } from '../../src/import/import-plan.ts';
import { storeRows } from '../../src/import/store-rows.ts';
import { secretText } from '../../src/resource/secret-data.ts';
import type { ResourceKey } from '../../src/resource/types.ts';
import { createAdminToken } from '../../src/token/create-admin-token.ts';
import { parseSigningKey, signOffline } from '../../src/token/sign-offline.ts';
import { TokenSecrets } from '../../src/token/token-secrets.ts';
import { TokenVerifier } from '../../src/token/token-verifier.ts';
import { openEmbeddedStore } from '../support/embedded-store.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { dumpedObjects, WEST } from './kubernetes-global.ts';

const PATIENCE = AbortSignal.timeout(60_000);
const NOW = (): Date => new Date('2026-11-28T12:00:00Z');
const every = importPlan(dumpedObjects(), { accept: [], kinds: WEST });
const plan: ImportPlan = importPlan(dumpedObjects(), { accept: every.losses.map(({ kind }) => kind), kinds: WEST });

async function importedStore(): Promise<TinyStore> {
  const store = new TinyStore();
  await storeRows(store, plan.rows, PATIENCE);
  return store;
}

describe('a global on an imported store', () => {
  it('creates no default of its own: no policy, no generator, no key, no id', async () => {
    const store = await importedStore();
    const defaults = { skipMeshCreation: false, skipTenantResources: false, skipHostnameGenerators: false };
    await createGlobalDefaults(store, defaults);
    await createAdminToken(store, { bootstrapAdminToken: true, now: NOW });
    expect(store.rows.size).toBe(plan.rows.length);
  });

  it('takes the tokens that the old global signed', async () => {
    const store = await importedStore();
    const verifier = new TokenVerifier(new TokenSecrets({ store, federated: false }), NOW);
    const textOf = async (type: string, mesh: string, name: string): Promise<string> => {
      const row = await store.get({ type, mesh, name });
      if (row === undefined) throw new Error(`no ${name}`);
      return secretText(row);
    };
    const sign = async (kind: 'zone' | 'dataplane', request: Parameters<typeof signOffline>[1], pem: string): Promise<string> => {
      const privateKey = parseSigningKey(pem);
      if (privateKey === null) throw new Error('no signing key');
      return await signOffline(kind, request, { kid: '1', privateKey }, NOW);
    };
    expect(await verifier.user(await textOf('GlobalSecret', '', 'admin-user-token'))).toMatchObject({
      ok: true,
      claims: { name: 'mesh-system:admin' },
    });
    const zone = await sign(
      'zone',
      { zone: 'east', scope: ['cp'], validFor: '1h' },
      await textOf('GlobalSecret', '', 'zone-token-signing-key-1'),
    );
    expect(await verifier.zone(zone)).toMatchObject({ ok: true, claims: { zone: 'east' } });
    const proxy = await sign(
      'dataplane',
      { mesh: 'm2', name: 'web', validFor: '1h' },
      await textOf('Secret', 'm2', 'dataplane-token-signing-key-m2-1'),
    );
    expect(await verifier.dataplane(proxy, 'm2')).toMatchObject({ ok: true, claims: { name: 'web' } });
  });

  it('has rows of its own that a Mesh owns', async () => {
    const store = await importedStore();
    const key: ResourceKey = { type: 'MeshTimeout', mesh: 'default', name: 'from.kuma-system' };
    expect(await store.get(key)).toMatchObject({
      version: 0,
      owner: { type: 'Mesh', mesh: '', name: 'default' },
      syncVersion: null,
    });
  });
});

describe('the store of an import', () => {
  it('of a real database takes all rows at once', async () => {
    const store = await openEmbeddedStore();
    await storeRows(store, plan.rows, PATIENCE);
    const total = (await store.countAll()).reduce((sum, one) => sum + one.total, 0);
    expect(total).toBe(plan.rows.length);
    await store.close();
  });

  it('must be new', async () => {
    const store = await importedStore();
    await expect(storeRows(store, plan.rows, PATIENCE)).rejects.toThrow(
      `the store has ${String(plan.rows.length)} rows: import into one that is new`,
    );
  });

  it('must have no control plane', async () => {
    const store = new TinyStore();
    store.lead = async () => undefined;
    await expect(storeRows(store, plan.rows, PATIENCE)).rejects.toThrow('a control plane runs on this store');
    expect(store.rows.size).toBe(0);
  });

  it('keeps nothing of an import that it refuses in part, and the error names the row', async () => {
    const store = new TinyStore();
    store.beforeWrite = (write) =>
      write.key.name === 'from.kuma-system' ? { result: 'rejected', message: 'it does not fit' } : undefined;
    await expect(storeRows(store, plan.rows, PATIENCE)).rejects.toThrow(
      /name="from.kuma-system".*it does not fit.*Nothing was stored/,
    );
    expect(store.rows.size).toBe(0);
  });
});
