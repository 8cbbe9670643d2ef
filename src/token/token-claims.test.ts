import { describe, expect, it } from 'vitest';
import { readDataplaneClaims, readUserClaims, readZoneClaims } from './token-claims.ts';

describe('claims', () => {
  it('are read by kind, and null as an empty list', () => {
    expect(readUserClaims({ Name: 'ann', Groups: null })).toEqual({ ok: true, value: { name: 'ann', groups: [] } });
    expect(readZoneClaims({ Zone: 'east', Scope: ['x'] })).toEqual({ ok: true, value: { zone: 'east', scope: ['x'] } });
    expect(readDataplaneClaims({ Mesh: 'm', Tags: { a: ['b'] } })).toEqual({
      ok: true,
      value: { name: '', mesh: 'm', tags: { a: ['b'] }, type: '', workload: '' },
    });
  });

  it.each([
    {},
    { Name: '' },
    { Name: 5 },
    { Name: 'a', Groups: 'b' },
    { Name: 'a', Groups: [1] },
    { Name: 'a', Mesh: 'm' },
    { Name: 'a', Zone: 'z' },
  ])('of %o are not those of a user', (claims) => {
    expect(readUserClaims(claims)).toEqual({ ok: false, reason: 'is no user token: those have the claims Name and Groups' });
  });

  it.each([
    {},
    { Zone: '' },
    { Zone: ['east'] },
    { Zone: 'east', Scope: 1 },
    { Zone: 'east', Name: 'a' },
    { Zone: 'east', Mesh: 'm' },
  ])('of %o are not those of a zone', (claims) => {
    expect(readZoneClaims(claims)).toMatchObject({ ok: false, reason: 'is no zone token: those have the claims Zone and Scope' });
  });

  it.each([
    {},
    { Mesh: '' },
    { Mesh: 'm', Tags: [] },
    { Mesh: 'm', Tags: { a: 'b' } },
    { Mesh: 'm', Name: 1 },
    { Mesh: 'm', Zone: 'z' },
  ])('of %o are not those of a dataplane', (claims) => {
    expect(readDataplaneClaims(claims)).toMatchObject({ ok: false });
  });
});
