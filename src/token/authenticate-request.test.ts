import { describe, expect, it } from 'vitest';
import { authenticateRequest, adminUser, anonymousUser, type AuthenticationConfig } from './authenticate-request.ts';
import type { RequestFacts } from './request-facts.ts';

const config: AuthenticationConfig = { type: 'tokens', localhostIsAdmin: true };
const remote: RequestFacts = {
  method: 'GET',
  url: '/meshes',
  remoteAddress: '10.0.0.9',
  encrypted: false,
  headers: { host: 'cp.example:5681' },
};
const verifier = {
  user: async (token: string) =>
    token === 'good'
      ? ({ ok: true, claims: { name: 'ann', groups: ['dev'] }, id: 'x', expiresAt: new Date(0) } as const)
      : ({ ok: false, reason: 'was revoked' } as const),
};
const ann = { name: 'ann', groups: ['dev', 'mesh-system:authenticated'] };

async function authenticate(facts: Partial<RequestFacts>, authorization?: string | string[], with_ = config) {
  const headers = { ...remote.headers, ...facts.headers, ...(authorization !== undefined && { authorization }) };
  return await authenticateRequest({ ...remote, ...facts, headers }, with_, verifier);
}

describe('authenticateRequest', () => {
  it('treats a caller without a token as anonymous', async () => {
    expect(await authenticate({})).toEqual({ ok: true, user: anonymousUser });
    expect(await authenticate({}, 'Basic YTpi')).toEqual({ ok: true, user: anonymousUser });
    expect(await authenticate({}, 'Bearerx good')).toEqual({ ok: true, user: anonymousUser });
  });

  it('treats the bearer of a valid token as its user', async () => {
    for (const header of ['Bearer good', 'bearer   good '])
      expect(await authenticate({}, header)).toEqual({ ok: true, user: ann, token: { text: 'good', expiresAt: new Date(0) } });
  });

  it('refuses a bad token', async () => {
    const refusal = { ok: false, reason: 'the user token was revoked' };
    for (const header of ['Bearer bad', 'Bearer ', 'Bearer', ['Bearer good', 'Bearer good']])
      expect(await authenticate({}, header)).toEqual(refusal);
    expect(await authenticate({ method: 'POST', url: '/' }, 'Bearer bad')).toEqual(refusal);
    for (const url of ['/guide', '//', '/meshes?/gui/']) expect(await authenticate({ url }, 'Bearer bad')).toEqual(refusal);
  });

  it('answers the public pages with any token', async () => {
    for (const url of ['/', '/?a=b', '/gui', '/gui/', '/gui/x'])
      expect(await authenticate({ url }, 'Bearer bad')).toEqual({ ok: true, user: anonymousUser });
    expect(await authenticate({ url: '/' }, 'Bearer good')).toMatchObject({ ok: true, user: ann });
  });

  it('treats a local caller as the admin, in preference to any token', async () => {
    const local = { remoteAddress: '127.0.0.1', headers: { host: 'localhost:5681' } };
    expect(await authenticate(local)).toEqual({ ok: true, user: adminUser });
    expect(await authenticate(local, 'Bearer bad')).toEqual({ ok: true, user: adminUser });
    const strict = { ...config, localhostIsAdmin: false };
    expect(await authenticate(local, undefined, strict)).toEqual({ ok: true, user: anonymousUser });
    expect(await authenticate(local, 'Bearer good', strict)).toMatchObject({ ok: true, user: ann });
  });

  it('reads no tokens when they are disabled', async () => {
    expect(await authenticate({}, 'Bearer bad', { ...config, type: 'none' })).toEqual({ ok: true, user: anonymousUser });
  });
});
