import { describe, expect, it } from 'vitest';
import { dataplaneTokenRequest, userTokenRequest, violationsOf, zoneTokenRequest } from './token-request.ts';

const HOUR_MS = 3_600_000;
const TEN_YEARS_MS = 10 * 365 * 24 * HOUR_MS;
type Request = typeof userTokenRequest | typeof zoneTokenRequest | typeof dataplaneTokenRequest;

/** The fields with violations; empty where the body is good. */
function fieldsOf(request: Request, body: unknown): string[] {
  const { error } = request.safeParse(body);
  return error === undefined ? [] : violationsOf(error).map(({ field }) => field);
}

describe('a request of a token', () => {
  it('has its defaults', () => {
    expect(userTokenRequest.parse({ name: 'ann', validFor: '1h' })).toEqual({ name: 'ann', groups: [], validFor: HOUR_MS });
    expect(zoneTokenRequest.parse({ zone: 'east', scope: null })).toEqual({ zone: 'east', scope: null, validFor: TEN_YEARS_MS });
    expect(dataplaneTokenRequest.parse({ mesh: 'shop', tags: null, validFor: '' })).toEqual({
      ...{ mesh: 'shop', name: '', tags: {}, type: '', workload: '', validFor: TEN_YEARS_MS },
    });
  });

  it.each<[what: string, request: Request, body: object, fields: string[]]>([
    ['no name of a user', userTokenRequest, { validFor: '1h' }, ['name']],
    ['an empty name', userTokenRequest, { name: '', validFor: '1h' }, ['name']],
    ['no time for a user', userTokenRequest, { name: 'ann' }, ['validFor']],
    ['groups that are no list', userTokenRequest, { name: 'ann', validFor: '1h', groups: 'a' }, ['groups']],
    ['a group that is no text', userTokenRequest, { name: 'ann', validFor: '1h', groups: ['a', 1] }, ['groups.1']],
    ['text that no database stores', userTokenRequest, { name: 'a\u0000', validFor: '1h' }, ['name']],
    ['no zone', zoneTokenRequest, {}, ['zone']],
    ['a zone that no zone can be', zoneTokenRequest, { zone: 'East' }, ['zone']],
    ['a scope that is no list', zoneTokenRequest, { zone: 'east', scope: 'cp' }, ['scope']],
    ['a scope that no proxy has', zoneTokenRequest, { zone: 'east', scope: ['cp', 'foo'] }, ['scope.1']],
    ['a type that no proxy has', dataplaneTokenRequest, { mesh: 'm', type: 'foo' }, ['type']],
    ['no mesh', dataplaneTokenRequest, {}, ['mesh']],
    ['a mesh that no mesh can be', dataplaneTokenRequest, { mesh: 'a/b' }, ['mesh']],
    ['a mesh with a long name', dataplaneTokenRequest, { mesh: 'm'.repeat(254) }, ['mesh']],
    ['tags that are no lists', dataplaneTokenRequest, { mesh: 'm', tags: { a: 'b' } }, ['tags.a']],
    ['several', dataplaneTokenRequest, { mesh: '', name: 1, validFor: 'soon' }, ['name', 'mesh', 'validFor']],
  ])('is refused with %s, by its field', (_, request, body, fields) => {
    expect(fieldsOf(request, body)).toEqual(fields);
  });

  it('may name each type of proxy and each scope, and the refusal names them', () => {
    for (const type of ['', 'dataplane', 'ingress', 'egress', null])
      expect(fieldsOf(dataplaneTokenRequest, { mesh: 'm', type })).toEqual([]);
    expect(fieldsOf(zoneTokenRequest, { zone: 'east', scope: ['cp', 'ingress', 'egress'] })).toEqual([]);
    const { error: type } = dataplaneTokenRequest.safeParse({ mesh: 'm', type: 'foo' });
    const { error: scope } = zoneTokenRequest.safeParse({ zone: 'east', scope: ['foo'] });
    expect(type?.issues.map(({ message }) => message)).toEqual(['must be dataplane, ingress or egress']);
    expect(scope?.issues.map(({ message }) => message)).toEqual(['must be cp, ingress or egress']);
  });

  it('may name a mesh of 253 characters', () => {
    expect(fieldsOf(dataplaneTokenRequest, { mesh: 'm'.repeat(253) })).toEqual([]);
  });

  it.each([
    ['1ms', true],
    ['2562047h', true],
    ['0s', false],
    ['-1h', false],
    ['2562048h', false],
    ['soon', false],
  ])('for %s is good: %j', (validFor, isGood) => {
    expect(fieldsOf(zoneTokenRequest, { zone: 'east', validFor })).toEqual(isGood ? [] : ['validFor']);
  });
});
