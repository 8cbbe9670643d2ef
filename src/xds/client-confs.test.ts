// The confs of single clients: which routes there are, in which order, and whose rules each has.
import { describe, expect, it } from 'vitest';
import { make } from '../../test/policy/make-resource.ts';
import { parsePolicy } from '../policy/parse-policy.ts';
import type { InboundRule } from '../policy/inbound-rules.ts';
import type { JsonObject } from '../resource/types.ts';
import { clientConf, clientRules, clientsMatch, clientsOf, reportCommonTimes, type ClientRules } from './client-confs.ts';
import type { ConfigProblem } from './config-problem.ts';

const policy = parsePolicy(make('MeshTimeout', 'p', {}), 0);
const exact = (value: string): JsonObject => ({ spiffeID: { type: 'Exact', value } });
const prefix = (value: string): JsonObject => ({ spiffeID: { type: 'Prefix', value } });

function rulesOf(
  rules: readonly (readonly [match: JsonObject | null, conf: JsonObject])[],
): ClientRules & { problems: ConfigProblem[] } {
  const problems: ConfigProblem[] = [];
  const given: InboundRule[] = rules.map(([match, conf], index) => ({ match, conf, policy, index }));
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
    const sni = { sni: { type: 'Exact', value: 'x' } };
    const { byClient, problems } = rulesOf([
      [sni, {}],
      [{ ...exact('a'), ...sni }, {}],
    ]);
    expect(byClient).toEqual([]);
    expect(problems.map(({ field }) => field)).toEqual(['spec.rules[0].matches', 'spec.rules[1].matches']);
  });
});

describe('the conf of a client', () => {
  const rules = rulesOf([
    [null, { a: 1, b: 1, c: 1 }],
    [prefix('a/'), { b: 2, c: 2 }],
    [exact('a/b'), { c: 3 }],
    [exact('a/b'), { c: 4 }],
  ]);

  it.each([
    ['a/b', false, { a: 1, b: 1, c: 4 }],
    ['a/c', false, { a: 1, b: 2, c: 2 }],
    ['a/b', true, { a: 1, b: 2, c: 2 }],
    ['other', false, { a: 1, b: 1, c: 1 }],
  ])('of %s (prefix: %s) has the most specific rules over those of everybody', (value, isPrefix, conf) => {
    expect(clientConf(rules, { value, isPrefix })).toEqual(conf);
  });

  it('has the times of a route alone; others are reported', () => {
    const found = rulesOf([[exact('a'), { idleTimeout: '1s', http: { requestTimeout: '1s', requestHeadersTimeout: '1s' } }]]);
    const problems: ConfigProblem[] = [];
    reportCommonTimes(found, (problem) => problems.push(problem));
    expect(problems.map(({ field }) => field)).toEqual([
      'spec.rules[0].default.idleTimeout',
      'spec.rules[0].default.http.requestHeadersTimeout',
    ]);
  });
});
