// What stays of a conf that no check has seen, and what is named as left out.
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../resource/types.ts';
import type { ConfSection } from '../validation/check-conf.ts';
import { usableConf } from './usable-conf.ts';

const http = (http: JsonObject): JsonObject => ({ idleTimeout: '5s', http });
const FILE = { type: 'File', file: { path: '/log' } };
const BAD_FILE = { type: 'File', file: { path: 'no path' } };
const BAD_TCP = { type: 'Tcp', tcp: { address: 'no address', format: { type: 'No' } } };
const limit = (onRateLimit?: JsonObject): JsonObject => ({
  local: {
    http: { requestRate: { num: 1, interval: '1s' }, ...(onRateLimit !== undefined && { onRateLimit }) },
    tcp: { connectionRate: { num: 1, interval: '1s' } },
  },
});
const header = (name: string): JsonObject => ({ type: 'Header', header: { name } });
const RING = { type: 'RingHash', ringHash: { minRingSize: 7, hashPolicies: [header('old')] } };
const HEADERS = Array.from({ length: 11 }, (_, at) => ({ name: `x-${String(at)}`, value: 'a' }));

describe('the usable part of a conf', () => {
  it.each<[what: string, type: string, section: ConfSection, conf: JsonObject, left: JsonObject | null, paths: string[]]>([
    ['all of a good one', 'MeshTimeout', 'to', http({ requestTimeout: '7s' }), http({ requestTimeout: '7s' }), []],
    [
      'no bad value',
      'MeshTimeout',
      'to',
      { idleTimeout: 'x', connectionTimeout: '2s' },
      { connectionTimeout: '2s' },
      ['idleTimeout'],
    ],
    [
      'the values beside a bad one below',
      'MeshTimeout',
      'to',
      http({ requestTimeout: 'x', streamIdleTimeout: '3s' }),
      http({ streamIdleTimeout: '3s' }),
      ['http.requestTimeout'],
    ],
    [
      'no object that lost its only value',
      'MeshTimeout',
      'to',
      http({ requestTimeout: 'x' }),
      { idleTimeout: '5s' },
      ['http.requestTimeout'],
    ],
    [
      'the good items of a list',
      'MeshAccessLog',
      'to',
      { backends: [BAD_FILE, FILE, BAD_FILE, FILE] },
      { backends: [FILE, FILE] },
      ['backends[0].file.path', 'backends[2].file.path'],
    ],
    [
      'the good items of a list whose last item is bad twice',
      'MeshAccessLog',
      'to',
      { backends: [FILE, BAD_TCP] },
      { backends: [FILE] },
      ['backends[1].tcp.address', 'backends[1].tcp.format.type'],
    ],
    [
      'a rate limit without an answer that is bad twice',
      'MeshRateLimit',
      'rules',
      limit({ status: 1, headers: { set: [{ name: 'host', value: 'x' }] } }),
      limit(),
      ['local.http.onRateLimit.status', 'local.http.onRateLimit.headers.set[0].name'],
    ],
    [
      'the limit of connections beside an answer that is bad three times',
      'MeshRateLimit',
      'rules',
      limit({ status: 1, headers: { set: [{ name: 'host', value: 'x' }], add: [{ name: 'host', value: 'x' }] } }),
      limit(),
      [
        'local.http.onRateLimit.status',
        'local.http.onRateLimit.headers.set[0].name',
        'local.http.onRateLimit.headers.add[0].name',
      ],
    ],
    [
      'a rule of an inbound',
      'MeshTimeout',
      'rules',
      { idleTimeout: 'x', http: { requestTimeout: '1s' } },
      { http: { requestTimeout: '1s' } },
      ['idleTimeout'],
    ],
    ['a rule for a mesh alone', 'MeshTLS', 'rules', { mode: 'Strict' }, { mode: 'Strict' }, []],
    [
      'an old conf of clients',
      'MeshTLS',
      'from',
      { mode: 'Never', tlsVersion: { min: 'TLS12' } },
      { tlsVersion: { min: 'TLS12' } },
      ['mode'],
    ],
    ['a conf of a proxy', 'MeshPassthrough', 'default', { passthroughMode: 'Never' }, {}, ['passthroughMode']],
    [
      'the new one of two lists of hash policies',
      'MeshLoadBalancingStrategy',
      'to',
      { loadBalancer: RING, hashPolicies: [header('new')] },
      { loadBalancer: { type: 'RingHash', ringHash: { minRingSize: 7 } }, hashPolicies: [header('new')] },
      [],
    ],
    [
      'a rate limit without the answer that Envoy refuses',
      'MeshRateLimit',
      'rules',
      { local: { http: { requestRate: { num: 5, interval: '1s' }, onRateLimit: { status: 429, headers: { set: HEADERS } } } } },
      { local: { http: { requestRate: { num: 5, interval: '1s' } } } },
      ['local.http.onRateLimit.headers'],
    ],
    ['an old list that stands alone', 'MeshLoadBalancingStrategy', 'to', { loadBalancer: RING }, { loadBalancer: RING }, []],
  ])('has %s', (_, type, section, conf, left, paths) => {
    const given = structuredClone(conf);
    const usable = usableConf(type, section, conf);
    expect([usable.conf, usable.refused.map(({ path }) => path)]).toEqual([left, paths]);
    // A good conf is passed on, and no given one is changed.
    expect(conf).toEqual(given);
    expect(usableConf(type, section, conf)).toBe(usable);
  });

  it('says why a value is left out', () => {
    expect(usableConf('MeshTimeout', 'to', { idleTimeout: 'soon' }).refused).toEqual([
      { path: 'idleTimeout', reason: expect.stringContaining('must be a duration') as string },
    ]);
  });

  it('is none where the match of the rule cannot be read, and differs by match and type', () => {
    const conf = { abort: { httpStatus: 500, percentage: 10 } };
    const by = (match: JsonObject | null): unknown => usableConf('MeshFaultInjection', 'rules', { http: [conf] }, match);
    expect(by({ spiffeID: { type: 'Exact', value: 'spiffe://a/b' } })).toMatchObject({ conf: { http: [conf] }, refused: [] });
    expect(by({ spiffeID: { type: 'Exact', value: 'no id' } })).toMatchObject({
      conf: null,
      refused: [{ path: '[0].spiffeID.value' }],
    });
    const shared = { idleTimeout: '1s' };
    expect(usableConf('MeshTimeout', 'to', shared).refused).toEqual([]);
    expect(usableConf('MeshRetry', 'to', shared).refused).not.toEqual([]);
  });
});
