import { createPublicKey } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { pairOf, partOf, timesAt } from '../../test/token/signing-secrets.ts';
import { kidOfJwt, showKid, signJwt, statedEndOfJwt, verifyJwt } from './jwt.ts';

const { privateKey } = pairOf('user1');
const publicKey = createPublicKey(privateKey);
const now = new Date('2026-01-01T00:00:00Z');

async function check(claims: Record<string, unknown>, at = now) {
  return await verifyJwt(await signJwt(claims, '1', privateKey), '1', publicKey, at);
}

describe('a token', () => {
  it('has the given header and claims', async () => {
    const token = await signJwt({ ...timesAt(now), Name: 'ann' }, '7', privateKey);
    expect(partOf(token, 0)).toEqual({ alg: 'RS256', kid: '7', typ: 'JWT' });
    expect(partOf(token, 1)).toMatchObject({ Name: 'ann' });
    expect(kidOfJwt(token)).toEqual({ ok: true, kid: '7' });
    expect(await verifyJwt(token, '7', publicKey, now)).toMatchObject({ ok: true, expiresAt: new Date('2026-01-01T01:00:00Z') });
  });

  it.each([
    [{ exp: 1_767_225_594 }, 'expired on 2025-12-31T23:59:54.000Z'],
    [{ exp: 1_767_225_595 }, 'expired on 2025-12-31T23:59:55.000Z'],
    [{ exp: 1_767_225_596 }, null],
    [{ nbf: 1_767_225_605 }, null],
    [{ nbf: 1_767_225_606 }, 'is not valid before 2026-01-01T00:00:06.000Z; do the clocks of both machines agree?'],
    [{ exp: undefined }, 'has no claim exp'],
    [{ jti: undefined }, 'has no claim jti'],
    [{ jti: '' }, 'has no jti, so that it could not be revoked'],
    [{ jti: 5 }, 'has no jti, so that it could not be revoked'],
    [{ exp: 'soon' }, 'has a claim exp that cannot be read'],
    [{ iat: 'then' }, 'has a claim iat that cannot be read'],
    [{ nbf: 'soon' }, 'has a claim nbf that cannot be read'],
    [{ exp: -1e300 }, 'expired on -271821-04-20T00:00:00.000Z'],
    [{ exp: 1e300 }, null],
  ])('with %o: %s', async (change, reason) => {
    const outcome = await check({ ...timesAt(now), ...change });
    expect(outcome).toMatchObject(reason === null ? { ok: true } : { ok: false, reason });
  });

  it('is not valid under another key', async () => {
    const token = await signJwt(timesAt(now), '1', pairOf('other').privateKey);
    expect(await verifyJwt(token, '1', publicKey, now)).toEqual({
      ok: false,
      isForged: true,
      reason: 'does not have the signature of key 1',
    });
  });
});

it('the end that a token states is read without its key, and is null without one', async () => {
  const stated = async (claims: Record<string, unknown>): Promise<Date | null> =>
    statedEndOfJwt(await signJwt(claims, '1', privateKey));
  expect(await stated({ exp: 60 })).toEqual(new Date(60_000));
  expect([await stated({}), await stated({ exp: 'soon' }), statedEndOfJwt('a.b.c')]).toEqual([null, null, null]);
});

describe('kidOfJwt', () => {
  const header = (value: unknown): string => `${Buffer.from(JSON.stringify(value)).toString('base64url')}.e30.AAAA`;

  it.each([
    ['', 'is not a JSON Web Token: it must have three parts joined by dots'],
    ['a.b', 'is not a JSON Web Token: it must have three parts joined by dots'],
    ['a.b.c.d', 'is not a JSON Web Token: it must have three parts joined by dots'],
    ['%.e30.AAAA', 'has a header that cannot be read'],
    [header([]), 'has a header that cannot be read'],
    [header({ kid: '1' }), 'is signed with no algorithm; only RS256 counts'],
    [header({ alg: 'none', kid: '1' }), 'is signed with "none"; only RS256 counts'],
    [header({ alg: 'x'.repeat(900), kid: '1' }), `is signed with "${'x'.repeat(40)}"; only RS256 counts`],
    [header({ alg: 'RS256' }), 'does not say which key signed it: its header has no kid'],
    [header({ alg: 'RS256', kid: 1 }), 'does not say which key signed it: its header has no kid'],
    ['a'.repeat(8_192), 'is not a JSON Web Token: it must have three parts joined by dots'],
    ['a'.repeat(8_193), 'is longer than 8192 characters'],
  ])('refuses %s', (token, reason) => {
    expect(kidOfJwt(token)).toEqual({ ok: false, reason });
  });

  it('prints serials unchanged and other kids in quotes', () => {
    expect(showKid('3')).toBe('3');
    expect(showKid('../x\n')).toBe('"../x\\n"');
    expect(showKid('1'.repeat(20))).toBe('1'.repeat(20));
    expect(showKid('1'.repeat(21))).toBe(`"${'1'.repeat(21)}"`);
    expect(showKid('k'.repeat(41))).toBe(`"${'k'.repeat(40)}"`);
  });
});
