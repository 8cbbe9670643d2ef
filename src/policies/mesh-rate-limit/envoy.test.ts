import { STATUS_CODES } from 'node:http';
import { describe, expect, it } from 'vitest';
import type { Conf } from '../confs.ts';
import { objectOf } from '../../resource/read-json.ts';
import { envoyJsonToBinary } from '../../wire/json-to-binary.ts';
import { connectionLimit, requestLimit } from './envoy.ts';
import type { JsonObject } from '../../resource/types.ts';

type HttpLimit = NonNullable<NonNullable<Conf<'MeshRateLimit'>['local']>['http']>;
type Answer = NonNullable<HttpLimit['onRateLimit']>;

const requestRate = { num: 5, interval: '10s' };

function statusOf(status: number): unknown {
  const limit = requestLimit({ local: { http: { requestRate, onRateLimit: { status } } } });
  const config = limit['typedPerFilterConfig'] as Record<string, JsonObject>;
  const { '@type': _, ...filter } = config['envoy.filters.http.local_ratelimit'] ?? {};
  // Envoy knows the name.
  envoyJsonToBinary('envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit', filter);
  return filter['status'];
}

describe('a limit of requests', () => {
  /** HTTP has these, and the enum of Envoy does not. */
  const unknown = [418, 425, 451, 509];

  it.each(Object.entries(STATUS_CODES))('answers %s with the name that Envoy has for «%s»', (code, name = '') => {
    const isKnown = Number(code) >= 400 && !unknown.includes(Number(code));
    expect(statusOf(Number(code))).toEqual(isKnown ? { code: name.replaceAll(/[^A-Za-z]/g, '') } : undefined);
  });
});

describe('the answer to a request over the limit', () => {
  const add = { name: 'x-added', value: '1' };
  const set = { name: 'x-set', value: '2' };
  const added = { header: { key: 'x-added', value: '1' } };
  const replacing = { header: { key: 'x-set', value: '2' }, appendAction: 'OVERWRITE_IF_EXISTS_OR_ADD' };

  it.each<[what: string, headers: NonNullable<Answer['headers']>, expected: JsonObject[] | undefined]>([
    ['no header', {}, undefined],
    ['an added header', { add: [add] }, [added]],
    ['a set header', { set: [set] }, [replacing]],
    ['added headers before set ones', { set: [set], add: [add] }, [added, replacing]],
  ])('has %s', (_, headers, expected) => {
    const limit = requestLimit({ local: { http: { requestRate, onRateLimit: { headers } } } });
    const filter = objectOf(objectOf(limit['typedPerFilterConfig'])['envoy.filters.http.local_ratelimit']);
    expect(filter['responseHeadersToAdd']).toEqual(expected);
    expect(filter['tokenBucket']).toEqual({ maxTokens: 5, tokensPerFill: 5, fillInterval: '10s' });
  });

  it('is given to all requests', () => {
    const limit = requestLimit({ local: { http: { requestRate } } });
    const filter = objectOf(objectOf(limit['typedPerFilterConfig'])['envoy.filters.http.local_ratelimit']);
    const all = { defaultValue: { numerator: 100 } };
    expect(filter).toMatchObject({ filterEnabled: all, filterEnforced: all });
  });

  it.each<[HttpLimit]>([[{ requestRate, disabled: true }], [{}]])('is not there with %j', (http) => {
    expect(requestLimit({ local: { http } })).toEqual({});
  });
});

describe('a limit of connections', () => {
  const connectionRate = { num: 5, interval: '10s' };

  it('is a bucket of tokens', () => {
    expect(connectionLimit({ local: { tcp: { connectionRate } } })[0]).toMatchObject({
      typedConfig: { tokenBucket: { maxTokens: 5, tokensPerFill: 5, fillInterval: '10s' } },
    });
  });

  it('is absent where it is disabled, and where there is no rate', () => {
    expect([connectionLimit({ local: { tcp: { connectionRate, disabled: true } } }), connectionLimit({ local: {} })]).toEqual([
      [],
      [],
    ]);
  });
});
