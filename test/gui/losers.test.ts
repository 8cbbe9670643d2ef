// The policies that the page of a proxy lists as those that match and set nothing.
import { expect, it } from 'vitest';
import { kriOf } from '../../src/resource/kri.ts';
import type { Effective } from '../../web/src/effective.ts';
import { losersOf } from '../../web/src/losers.ts';

const TYPE = 'MeshTimeout';

/** A policy as a control plane stores it. */
function policy(name: string, labels: Record<string, string>) {
  return { type: TYPE, mesh: 'shop', name, labels: { 'kuma.io/display-name': 'slow', ...labels } };
}
type Policy = ReturnType<typeof policy>;

/** The losers among policies that match an outbound, of which some set a value. */
function losersAmong(matching: readonly Policy[], winners: readonly Policy[]): string[] | undefined {
  const origins = winners.map((one) => ({ kri: kriOf(one), name: 'slow', ruleIndex: 0 }));
  const values = [{ path: 'idleTimeout', value: '7s', origins }];
  const policies = [{ kind: TYPE, level: 'service', note: null, values }];
  const outbounds = [{ kri: 'kri_msvc_shop_east__cart_80', port: 80, protocol: 'http', routes: [], policies }];
  const effective = { policies: [], inbounds: [], outbounds, total: 1 } as unknown as Effective;
  const origin = matching.map((resourceMeta) => ({ resourceMeta }));
  return losersOf(effective, { rules: [{ type: TYPE, toResourceRules: [{ origin }] }] })?.map(({ stored }) => stored);
}

const inNamespace = (origin: string, namespace: string): Policy =>
  policy(`slow-${namespace}`, { 'kuma.io/origin': origin, 'kuma.io/zone': 'east', 'k8s.kuma.io/namespace': namespace });

it.each(['zone', 'global'])('a policy of a zone that sets a value is no loser where its origin is %s', (origin) => {
  const one = inNamespace(origin, 'a');
  expect([losersAmong([one], [one]), losersAmong([one], [])]).toEqual([[], ['slow-a']]);
});

it('a policy of another namespace with the same name is a loser', () => {
  const [a, b] = [inNamespace('zone', 'a'), inNamespace('zone', 'b')];
  expect(losersAmong([a, b], [a])).toEqual(['slow-b']);
});

it('a policy of global is no policy of a zone with the same name', () => {
  const [own, other] = [policy('slow', { 'kuma.io/origin': 'global' }), inNamespace('zone', 'a')];
  expect([losersAmong([own, other], [own]), losersAmong([own, other], [other])]).toEqual([['slow-a'], ['slow']]);
});
