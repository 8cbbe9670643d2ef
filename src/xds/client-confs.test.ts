// The confs of single clients: which routes there are, in which order, and whose rules each has.
import { describe, expect, it } from 'vitest';
import { make } from '../../test/policy/make-resource.ts';
import { parsePolicy } from '../policy/parse-policy.ts';
import { DIFFER_BY_CLIENT } from '../policies/parts.ts';
import type { Conf, Confs } from '../policies/confs.ts';
import type { InboundMatch } from '../schema/inbound-match.ts';
import type { JsonObject } from '../resource/types.ts';
import { clientConf, clientRules, clientsMatch, clientsOf, reportCommonPaths, type ClientRules } from './client-confs.ts';
import type { ConfigProblem } from './config-problem.ts';
import { usableConf } from './usable-conf.ts';
import { usableRules, type UsableRule } from './usable-policies.ts';

const policy = parsePolicy(make('MeshTimeout', 'p', {}), 0);
const exact = (value: string) => ({ spiffeID: { type: 'Exact' as const, value } });
const prefix = (value: string) => ({ spiffeID: { type: 'Prefix' as const, value } });

type Rules<T extends keyof Confs> = readonly (readonly [match: InboundMatch | null, conf: Conf<T>])[];

function rulesOf<T extends keyof Confs = 'MeshTimeout'>(rules: Rules<T>): ClientRules<T> & { problems: ConfigProblem[] } {
  const problems: ConfigProblem[] = [];
  const given: UsableRule<T>[] = rules.map(([match, conf], index) => ({ match, conf, policy, index }));
  return { ...clientRules(given, (problem) => problems.push(problem)), problems };
}

describe('the clients of rules', () => {
  it('are asked exactly first, then by the longest prefix, each once', () => {
    const one = rulesOf([
      [prefix('a/'), {}],
      [exact('a/b'), {}],
    ]);
    const other = rulesOf([
      [prefix('a/b/'), {}],
      [exact('a/b'), {}],
      [null, {}],
    ]);
    expect(clientsOf(one, other).map((clients) => clientsMatch(clients)['filterState'])).toEqual([
      [{ key: 'meridian.client.spiffe_id', stringMatch: { exact: 'a/b' } }],
      [{ key: 'meridian.client.spiffe_id', stringMatch: { prefix: 'a/b/' } }],
      [{ key: 'meridian.client.spiffe_id', stringMatch: { prefix: 'a/' } }],
    ]);
  });

  it('are known by their SPIFFE ID alone; a rule for a server name is reported', () => {
    const sni: InboundMatch = { sni: { type: 'Exact', value: 'x' } };
    const { byClient, problems } = rulesOf([
      [sni, {}],
      [{ ...exact('a'), ...sni }, {}],
    ]);
    expect(byClient).toEqual([]);
    expect(problems.map(({ field }) => field)).toEqual(['spec.rules[0].matches', 'spec.rules[1].matches']);
  });
});

describe('the conf of a client', () => {
  const times = (idle: number, connection: number, request: number) => ({
    ...{ idleTimeout: `${String(idle)}s`, connectionTimeout: `${String(connection)}s` },
    http: { requestTimeout: `${String(request)}s` },
  });
  const rules = rulesOf([
    [null, times(1, 1, 1)],
    [prefix('a/'), { connectionTimeout: '2s', http: { requestTimeout: '2s' } }],
    [exact('a/b'), { http: { requestTimeout: '3s' } }],
    [exact('a/b'), { http: { requestTimeout: '4s' } }],
  ]);

  it.each([
    ['a/b', false, times(1, 1, 4)],
    ['a/c', false, times(1, 2, 2)],
    ['a/b', true, times(1, 2, 2)],
    ['other', false, times(1, 1, 1)],
  ])('of %s (prefix: %s) has the most specific rules over those of everybody', (value, isPrefix, conf) => {
    const problems: ConfigProblem[] = [];
    expect(clientConf('MeshTimeout', rules, { value, isPrefix }, (problem) => problems.push(problem))).toEqual(conf);
    expect(problems).toEqual([]);
  });

  it('has no part that Envoy refuses, where two good confs merge into a bad one', () => {
    const named = (letter: string, count: number) =>
      Array.from({ length: count }, (_, at) => ({ name: `x-${letter}${String(at)}`, value: 'a' }));
    const limit = (num: number, headers: object): Conf<'MeshRateLimit'> => ({
      local: { http: { requestRate: { num, interval: '1s' }, onRateLimit: { headers: { ...headers } } } },
    });
    const limits = rulesOf<'MeshRateLimit'>([
      [null, limit(10, { set: named('a', 6) })],
      [exact('a/b'), limit(5, { add: named('b', 5) })],
    ]);
    const problems: ConfigProblem[] = [];
    const report = (problem: ConfigProblem): void => void problems.push(problem);
    const conf = clientConf('MeshRateLimit', limits, { value: 'a/b', isPrefix: false }, report);
    expect(usableConf('MeshRateLimit', 'rules', conf as JsonObject).refused).toEqual([]);
    expect(conf).toMatchObject({ local: { http: { requestRate: { num: 5 } } } });
    expect(problems).toHaveLength(1);
    expect(problems[0]?.field).toMatch(/^spec\.rules\[1\]\.default\.local\.http\.onRateLimit\.headers/);
  });

  it('says nothing more about a rule of which nothing is usable', () => {
    const problems: ConfigProblem[] = [];
    const report = (problem: ConfigProblem): void => void problems.push(problem);
    const id = 'spiffe://a/b';
    const bad = { http: { requestTimeout: 'x' } };
    const found = usableRules('MeshTimeout', [{ match: exact(id), conf: bad, policy, index: 0 }], report);
    expect(clientConf('MeshTimeout', clientRules(found, report), { value: id, isPrefix: false }, report)).toEqual({});
    expect(problems.map(({ field }) => field)).toEqual(['spec.rules[0].default.http.requestTimeout']);
  });

  it('has the times of a route alone; others are reported', () => {
    const found = rulesOf([[exact('a'), { idleTimeout: '1s', http: { requestTimeout: '1s', requestHeadersTimeout: '1s' } }]]);
    const problems: ConfigProblem[] = [];
    const paths = DIFFER_BY_CLIENT.get('MeshTimeout') ?? new Set();
    reportCommonPaths(found, paths, (problem) => problems.push(problem));
    expect(problems.map(({ field }) => field)).toEqual([
      'spec.rules[0].default.idleTimeout',
      'spec.rules[0].default.http.requestHeadersTimeout',
    ]);
  });
});
