// Which rules of a zone listener are about the clients of one port.
import { describe, expect, it } from 'vitest';
import { make } from '../../test/policy/make-resource.ts';
import { buildRules } from '../policy/build-rules.ts';
import { MeshIndex } from '../policy/mesh-index.ts';
import type { JsonObject } from '../resource/types.ts';
import type { ConfigProblem } from './config-problem.ts';
import type { PermissionRule } from '../policies/mesh-traffic-permission/clients.ts';
import { usableConf } from './usable-conf.ts';
import type { Report } from './usable-policies.ts';
import { chainFilters, ListenerRules, namedServers, permissionsOn } from './zone-rules.ts';

const sni = (value: string): JsonObject => ({ sni: { type: 'Exact', value } });
const client = (id: string): JsonObject => ({ spiffeID: { type: 'Exact', value: `spiffe://${id}` } });

const logTo = (file: number): JsonObject => ({ backends: [{ type: 'File', file: { path: `/${String(file)}` } }] });

/** The rules of a MeshAccessLog on the ingress of a zone; each has its own file. */
function rulesOf(...rules: [match: JsonObject | null, file: number][]): ListenerRules {
  return listenerRules(
    'MeshAccessLog',
    rules.map(([match, file]) => [match, logTo(file)]),
    () => undefined,
  );
}

function listenerRules(type: string, rules: [match: JsonObject | null, conf: JsonObject][], report: Report): ListenerRules {
  const written = rules.map(([match, conf]) => ({ ...(match !== null && { matches: [match] }), default: conf }));
  const index = new MeshIndex('default', [
    make('Dataplane', 'ingress', { networking: { zoneIngress: { address: '10.0.0.1', port: 10_001 } } }, { zone: 'east' }),
    make(type, 'p', { targetRef: { kind: 'Dataplane' }, rules: written }, { zone: 'east' }),
  ]);
  const [proxy] = index.proxies();
  const [section] = proxy?.sections ?? [];
  if (proxy === undefined || section === undefined) throw new Error('the mesh has an ingress');
  return new ListenerRules(buildRules(index, proxy), section, report);
}
const files = (rules: readonly { readonly conf: object }[]): unknown[] =>
  rules.map(({ conf }) => Number(/"path":"\/(\d)"/.exec(JSON.stringify(conf))?.[1]));

describe('the rules of a chain', () => {
  const rules = rulesOf([sni('a'), 1], [sni('b'), 2], [{ ...sni('a'), ...client('x') }, 3], [client('y'), 4], [null, 5]);

  it('are those that name its server and those that name none, apart by whether they name clients', () => {
    const { byClient, named, common } = rules.chain('MeshAccessLog', ['a', 'a2']);
    expect([files(byClient), files(named), files(common)]).toEqual([[3, 4], [1], [5]]);
    expect(byClient.map(({ match }) => match)).toEqual([client('x'), client('y')]);
    const other = rules.chain('MeshAccessLog', ['c']);
    expect([files(other.byClient), files(other.named), files(other.common)]).toEqual([[4], [], [5]]);
  });

  it('give the conf of the port over that of all ports', () => {
    expect(rules.conf('MeshAccessLog', ['a'])).toEqual(logTo(1));
    expect(rules.conf('MeshAccessLog', ['c'])).toEqual(logTo(5));
    expect(rulesOf().conf('MeshAccessLog', ['a'])).toEqual({});
  });

  it('have no part that Envoy refuses, where two good confs merge into a bad one', () => {
    const headers = (letter: string): JsonObject[] =>
      Array.from({ length: 6 }, (_, at) => ({ name: `x-${letter}${String(at)}`, value: 'a' }));
    const limit = (num: number, onRateLimit: JsonObject): JsonObject => ({
      local: { http: { requestRate: { num, interval: '1s' }, onRateLimit } },
    });
    const problems: ConfigProblem[] = [];
    const both = listenerRules(
      'MeshRateLimit',
      [
        [null, limit(10, { headers: { set: headers('a') } })],
        [sni('a'), limit(5, { headers: { add: headers('b') } })],
      ],
      (problem) => problems.push(problem),
    );
    expect(both.conf('MeshRateLimit', ['b'])).toEqual(limit(10, { headers: { set: headers('a') } }));
    expect(problems).toEqual([]);
    const conf = both.conf('MeshRateLimit', ['a']);
    expect(usableConf('MeshRateLimit', 'rules', conf as JsonObject).refused).toEqual([]);
    expect(conf).toMatchObject({ local: { http: { requestRate: { num: 5 } } } });
    expect(problems.map(({ field }) => field)).toEqual([
      expect.stringMatching(/^spec\.rules\[1\]\.default\.local\.http\.onRateLimit\.headers/),
    ]);
  });

  it('are asked of a client from the most specific on', () => {
    expect(files(chainFilters(rules.chain('MeshAccessLog', ['a'])))).toEqual([3, 4, 1, 5]);
  });

  it('name servers', () => {
    expect(namedServers(rules.all('MeshAccessLog')).sort()).toEqual(['a', 'a', 'b']);
    expect(rules.all('MeshRetry')).toEqual([]);
  });
});

it('permissions are those of clients that name this server, or none', () => {
  const conf = {
    allow: [client('x'), { ...sni('a'), ...client('y') }, sni('a'), { ...sni('b'), ...client('z') }],
    deny: [sni('b')],
  };
  const rule = { match: null, conf } as unknown as PermissionRule;
  const everyone = { spiffeID: { type: 'Prefix', value: 'spiffe://' } };
  expect(permissionsOn([rule], ['a']).map((one) => one.conf)).toEqual([
    { deny: [], allow: [client('x'), client('y'), everyone], allowWithShadowDeny: [] },
  ]);
  expect(permissionsOn([rule], ['b']).map((one) => one.conf)).toEqual([
    { deny: [everyone], allow: [client('x'), client('z')], allowWithShadowDeny: [] },
  ]);
});
