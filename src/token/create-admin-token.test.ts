import { beforeEach, describe, expect, it } from 'vitest';
import { TinyStore } from '../../test/support/tiny-store.ts';
import { putKey, putSecret } from '../../test/token/signing-secrets.ts';
import { adminTokenKey, createAdminToken } from './create-admin-token.ts';
import { mayAccess } from '../http/access.ts';
import { userRealm } from './token-realm.ts';
import { TokenSecrets } from './token-secrets.ts';
import { TokenVerifier } from './token-verifier.ts';
import { userOf } from './authenticate-request.ts';

const now = (): Date => new Date('2026-01-01T00:00:00Z');
const options = { bootstrapAdminToken: true, now };
let store: TinyStore;

beforeEach(() => {
  store = new TinyStore();
});

async function adminToken(): Promise<string> {
  const row = await store.get(adminTokenKey);
  return Buffer.from(String(row?.spec['data']), 'base64').toString('utf8');
}

function namesOf(): string[] {
  return [...store.rows.values()].map(({ name }) => name).sort();
}

describe('createAdminToken', () => {
  it('creates the key and an admin token for ten years', async () => {
    await createAdminToken(store, options);
    expect(namesOf()).toEqual(['admin-user-token', 'user-token-signing-key-1']);
    const outcome = await new TokenVerifier(new TokenSecrets({ store, federated: false }), now).user(await adminToken());
    expect(outcome).toMatchObject({ ok: true, expiresAt: new Date('2035-12-30T00:00:00Z') });
    expect(outcome.ok && mayAccess(userOf(outcome.claims), 'adminResources')).toBe(true);
  });

  it('changes nothing the second time', async () => {
    await createAdminToken(store, options);
    const before = new Map(store.rows);
    await createAdminToken(store, options);
    expect(store.rows).toEqual(before);
  });

  it('does not recreate a rotated key, and signs with the newest', async () => {
    await putKey(store, userRealm, '7');
    await createAdminToken(store, options);
    expect(namesOf()).toEqual(['admin-user-token', 'user-token-signing-key-7']);
  });

  it('counts a key without a suffix', async () => {
    await putKey(store, userRealm, '0');
    await createAdminToken(store, options);
    expect(namesOf()).toEqual(['admin-user-token', 'user-token-signing-key']);
  });

  it('creates no token when it is disabled', async () => {
    await createAdminToken(store, { ...options, bootstrapAdminToken: false });
    expect(namesOf()).toEqual(['user-token-signing-key-1']);
  });

  it('keeps an existing token', async () => {
    await putSecret(store, userRealm, 'admin-user-token', 'mine');
    await createAdminToken(store, options);
    expect(await adminToken()).toBe('mine');
  });

  it.each(['user-token-signing-key-1', 'admin-user-token'])('fails when the store refuses %s', async (name) => {
    store.beforeWrite = async ({ key }) => {
      await new Promise(setImmediate);
      return key.name === name ? { result: 'rejected', message: 'no' } : undefined;
    };
    await expect(createAdminToken(store, options)).rejects.toMatchObject({ code: 'internal' });
  });
});
