import { beforeEach, describe, expect, it } from 'vitest';
import { TinyStore } from '../../test/support/tiny-store.ts';
import { partOf, putKey, putSecret } from '../../test/token/signing-secrets.ts';
import { TokenIssuer } from './token-issuer.ts';
import { dataplaneRealm, userRealm, zoneRealm } from './token-realm.ts';
import { tokenRoutes, type TokenAnswer } from './token-routes.ts';
import { TokenSecrets } from './token-secrets.ts';

const now = new Date('2026-01-01T00:00:00Z');
const long = Array.from({ length: 1_000 }, (_, index) => `group-${String(index)}`);
const TEN_YEARS_S = 315_360_000;
let store: TinyStore;

beforeEach(async () => {
  store = new TinyStore();
  for (const realm of [userRealm, zoneRealm, dataplaneRealm('shop')]) await putKey(store, realm, '1');
});

async function post(path: string, body: unknown, enabled = { user: true, zone: true, dataplane: true }): Promise<TokenAnswer> {
  const routes = tokenRoutes(new TokenIssuer(new TokenSecrets({ store, federated: false }), () => now), enabled);
  const route = routes.find((one) => one.path === path);
  if (route === undefined) throw new Error(`no route ${path}`);
  return await route.answer(typeof body === 'string' ? body : JSON.stringify(body));
}

function claimsOf(answer: TokenAnswer): Record<string, unknown> {
  expect(answer).toMatchObject({ status: 200 });
  return partOf('text' in answer ? answer.text : '', 1);
}

describe('tokenRoutes', () => {
  it('names the access rule of each route', () => {
    const none = { user: () => Promise.resolve(''), zone: () => Promise.resolve(''), dataplane: () => Promise.resolve('') };
    const routes = tokenRoutes(none, { user: true, zone: true, dataplane: true });
    expect(routes.map(({ path, action }) => [path, action])).toEqual([
      ['/tokens/user', 'generateUserToken'],
      ['/tokens/zone', 'generateZoneToken'],
      ['/tokens/dataplane', 'generateDpToken'],
    ]);
  });

  it('answers with a token', async () => {
    const user = claimsOf(await post('/tokens/user', { name: 'ann', groups: ['dev'], validFor: '24h0m0s' }));
    expect(user).toMatchObject({ Name: 'ann', Groups: ['dev'], exp: now.getTime() / 1000 + 86_400 });
    for (const groups of [null, undefined])
      expect(claimsOf(await post('/tokens/user', { name: 'ann', groups, validFor: '1h' }))).toMatchObject({ Groups: [] });
    const zone = claimsOf(await post('/tokens/zone', { zone: 'east', scope: null, validFor: '' }));
    expect(zone).toMatchObject({ Zone: 'east', Scope: null, exp: now.getTime() / 1000 + TEN_YEARS_S });
    const proxy = claimsOf(await post('/tokens/dataplane', { mesh: 'shop', tags: { a: ['b', 'c'] }, name: null, future: 1 }));
    expect(proxy).toMatchObject({ Mesh: 'shop', Tags: { a: ['b', 'c'] }, Name: '', exp: now.getTime() / 1000 + TEN_YEARS_S });
    expect(claimsOf(await post('/tokens/zone', { zone: 'east', scope: ['cp'] }))).toMatchObject({ Scope: ['cp'] });
  });

  it.each([
    ['/tokens/user', {}, ['name: cannot be empty', 'validFor: cannot be empty']],
    ['/tokens/user', { name: '', validFor: '1h' }, ['name: cannot be empty']],
    ['/tokens/user', { name: 'a', validFor: '' }, ['validFor: cannot be empty']],
    ['/tokens/user', { name: 'a', validFor: 'soon' }, ['validFor: must be a positive duration such as "24h" or "720h0m0s"']],
    ['/tokens/user', { name: 'a', validFor: '-1h' }, ['validFor: must be a positive duration such as "24h" or "720h0m0s"']],
    ['/tokens/user', { name: 'a', validFor: '0s' }, ['validFor: must be a positive duration such as "24h" or "720h0m0s"']],
    ['/tokens/user', { name: 'a', validFor: '2562048h' }, ['validFor: must be a positive duration such as "24h" or "720h0m0s"']],
    ['/tokens/user', { name: 5, groups: [1], validFor: '1h' }, ['name: must be a string', 'groups.0: must be a string']],
    ['/tokens/user', { name: 'a', groups: 'dev', validFor: '1h' }, ['groups: must be a list of strings']],
    ['/tokens/zone', {}, ['zone: cannot be empty']],
    [
      '/tokens/zone',
      { zone: 'East!', scope: 5 },
      [
        'zone: must be the name of a zone: lower-case letters, digits and hyphens, a letter first, at most 63',
        'scope: must be a list of strings',
      ],
    ],
    ['/tokens/dataplane', { name: 'web' }, ['mesh: cannot be empty']],
    ['/tokens/dataplane', { mesh: 'shop', tags: { a: 'b' } }, ['tags.a: must be a list of strings']],
    ['/tokens/dataplane', { mesh: 'shop', tags: [] }, ['tags: must be lists of strings by name']],
  ])('%s with %o names every wrong field', async (path, body, wrong) => {
    const answer = await post(path, body);
    expect(answer).toMatchObject({ code: 'invalid', title: 'Could not issue a token', detail: 'Resource is not valid' });
    const violations = 'violations' in answer ? answer.violations : [];
    expect(violations.map(({ field, reason }) => `${field}: ${reason}`)).toEqual(wrong);
  });

  it.each([
    ['/tokens/user', { name: 'a', groups: long, validFor: '1h' }, 'groups'],
    ['/tokens/user', { name: 'a'.repeat(9_000), validFor: '1h' }, 'name'],
    ['/tokens/zone', { zone: 'east', scope: long.map(() => 'ingress') }, 'scope'],
    ['/tokens/dataplane', { mesh: 'shop', tags: { team: long } }, 'tags'],
  ])('%s issues no token that is too long, and names the field', async (path, body, field) => {
    const reason = 'makes the token longer than 8192 characters, and such a token is refused everywhere';
    const detail = 'Resource is not valid';
    expect(await post(path, body)).toEqual({
      ...{ code: 'invalid', title: 'Could not issue a token', detail, violations: [{ field, reason }] },
    });
  });

  it.each(['', '{', 'null', '[]', '5', '"text"', '{"name":"a"'])('answers 400 without a token to %o', async (body) => {
    expect(await post('/tokens/user', body)).toEqual({ status: 400, text: '' });
  });

  it('reports that no signing key exists', async () => {
    expect(await post('/tokens/dataplane', { mesh: 'nowhere' })).toEqual({
      code: 'not_found',
      title: 'Signing Key not found',
      detail:
        'there is no Secret dataplane-token-signing-key-nowhere-1 to sign dataplane tokens with; does the mesh "nowhere" exist?',
      violations: [],
    });
  });

  it('reports that this control plane issues no tokens', async () => {
    const answer = await post('/tokens/zone', { zone: 'east' }, { user: true, zone: false, dataplane: true });
    const detail = 'zone tokens are not issued here: dpServer.authn.zoneProxy.zoneToken.enableIssuer is false';
    expect(answer).toMatchObject({ code: 'bad_request', detail });
  });

  it('rejects when the key cannot be read, without the text of the key', async () => {
    await putSecret(store, userRealm, 'user-token-signing-key-2', 'half of a secret');
    await expect(post('/tokens/user', { name: 'a', validFor: '1h' })).rejects.toMatchObject({
      code: 'internal',
      message: expect.not.stringContaining('half of a secret') as unknown,
    });
  });

  it('accepts names of properties that objects inherit', async () => {
    const claims = claimsOf(await post('/tokens/dataplane', '{"mesh":"shop","tags":{"constructor":["x"],"__proto__":["y"]}}'));
    expect(JSON.stringify(claims['Tags'])).toContain('"constructor":["x"]');
    expect(({} as Record<string, unknown>)['y']).toBeUndefined();
  });
});
