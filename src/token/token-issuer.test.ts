import { beforeEach, describe, expect, it } from 'vitest';
import { TinyStore } from '../../test/support/tiny-store.ts';
import { partOf, putKey } from '../../test/token/signing-secrets.ts';
import { TEN_YEARS_MS, TokenIssuer } from './token-issuer.ts';
import { dataplaneRealm, userRealm, zoneRealm } from './token-realm.ts';
import { TokenSecrets } from './token-secrets.ts';

const now = new Date('2026-01-01T00:00:00.700Z');
const seconds = 1_767_225_600;
let store: TinyStore;
let issuer: TokenIssuer;

beforeEach(() => {
  store = new TinyStore();
  issuer = new TokenIssuer(new TokenSecrets({ store, federated: false }), () => now);
});

describe('TokenIssuer', () => {
  it('writes user claims and times', async () => {
    await putKey(store, userRealm, '1');
    const token = await issuer.user({ name: 'ann', groups: ['dev'] }, 3_600_000);
    expect(partOf(token, 0)).toEqual({ alg: 'RS256', kid: '1', typ: 'JWT' });
    expect(partOf(token, 1)).toEqual({
      ...{ Name: 'ann', Groups: ['dev'], iat: seconds - 5, nbf: seconds - 5, exp: seconds + 3600 },
      jti: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/) as unknown,
    });
  });

  it('writes zone claims', async () => {
    await putKey(store, zoneRealm, '1');
    const claims = partOf(await issuer.zone({ zone: 'east', scope: null }, TEN_YEARS_MS), 1);
    expect(claims).toMatchObject({ Zone: 'east', Scope: null, exp: seconds + 315_360_000 });
  });

  it('writes dataplane claims, signed by the key of the mesh', async () => {
    await putKey(store, dataplaneRealm('shop'), '4');
    const request = { name: 'web', mesh: 'shop', tags: { 'kuma.io/service': ['web'] }, type: 'dataplane', workload: 'w' };
    const token = await issuer.dataplane(request, 1000);
    expect(partOf(token, 0)['kid']).toBe('4');
    expect(partOf(token, 1)).toMatchObject({
      ...{ Name: 'web', Mesh: 'shop', Tags: { 'kuma.io/service': ['web'] }, Type: 'dataplane', Workload: 'w' },
    });
    await expect(issuer.dataplane({ ...request, mesh: 'other' }, 1000)).rejects.toThrow('does the mesh "other" exist?');
  });

  it('gives every token its own id', async () => {
    await putKey(store, userRealm, '1');
    const ids = await Promise.all(
      ['a', 'b'].map(async (name) => partOf(await issuer.user({ name, groups: [] }, 1000), 1)['jti']),
    );
    expect(new Set(ids).size).toBe(2);
  });
});
