// Which proxies a policy may match by its top-level reference, before a full check.
import { describe, expect, it } from 'vitest';
import { make, makeDataplane, type Made } from '../../test/policy/make-resource.ts';
import type { JsonObject } from '../resource/types.ts';
import { parseDataplane } from './dataplane-proxy.ts';
import { parsePolicy, type Policy } from './parse-policy.ts';
import { PolicyIndex, reachOf } from './policy-index.ts';

let serial = 0;
const policyOf = (targetRef: JsonObject | undefined, made: Made = {}, name = 'p'): Policy =>
  parsePolicy(make('MeshTimeout', name, { ...(targetRef !== undefined && { targetRef }), to: [] }, made), (serial += 1));
const byLabels = (labels: JsonObject): JsonObject => ({ kind: 'Dataplane', labels });

describe('a policy', () => {
  it.each<[reach: string, what: string, targetRef: JsonObject | undefined, made: Made]>([
    ['every proxy', 'of the mesh', { kind: 'Mesh' }, {}],
    ['every proxy', 'without a reference', undefined, {}],
    ['every proxy', 'of all Dataplanes', { kind: 'Dataplane' }, {}],
    ['every proxy', 'of a zone', { kind: 'Mesh' }, { zone: 'east', role: 'system' }],
    ['some proxies', 'of a Dataplane by name', { kind: 'Dataplane', name: 'web' }, {}],
    ['some proxies', 'by a label', byLabels({ app: 'web' }), {}],
    ['some proxies', 'by a label that all proxies of a place have', byLabels({ 'kuma.io/env': 'universal' }), {}],
    ['some proxies', 'by tags', { kind: 'MeshSubset', tags: { app: 'web' } }, {}],
    ['some proxies', 'of a namespace', { kind: 'Mesh' }, { zone: 'east', namespace: 'shop', role: 'consumer' }],
    ['some proxies', 'of a section', { kind: 'Dataplane', sectionName: 'http' }, {}],
    ['some proxies', 'on a route', { kind: 'MeshHTTPRoute', name: 'r' }, {}],
    ['some proxies', 'of an old service', { kind: 'MeshService', name: 'web' }, {}],
    ['none', 'of a gateway', { kind: 'MeshGateway', name: 'g' }, {}],
    ['none', 'of an unknown kind', { kind: 'Other' }, {}],
  ])('may match %s: one %s', (reach, _, targetRef, made) => {
    expect(reachOf(policyOf(targetRef, made))).toBe(reach);
  });

  it('is a candidate for the proxies that may have it, by its most selective label, until it is removed', () => {
    const index = new PolicyIndex();
    const policies = [
      policyOf(byLabels({ 'kuma.io/zone': 'east', app: 'web' }), {}, 'of-web'),
      policyOf(byLabels({ 'kuma.io/zone': 'east' }), {}, 'of-east'),
      policyOf({ kind: 'Dataplane', name: 'web' }, {}, 'by-name'),
      policyOf({ kind: 'Mesh' }, {}, 'everywhere'),
    ];
    for (const policy of policies) index.put(policy);
    const candidates = (name: string, app: string, zone: string): string[] => {
      const proxy = parseDataplane(makeDataplane(name, { zone, labels: { app } }));
      return [...index.candidates(proxy)].map(({ displayName }) => displayName).sort();
    };
    expect(candidates('web', 'web', 'east')).toEqual(['by-name', 'of-east', 'of-web']);
    expect(candidates('cart', 'cart', 'east')).toEqual(['of-east']);
    expect(candidates('cart', 'web', 'west')).toEqual(['of-web']);
    index.remove(policies[0]?.resource.name ?? '');
    expect(candidates('web', 'web', 'east')).toEqual(['by-name', 'of-east']);
  });

  it('of a namespace is a candidate for the proxies of the namespace alone', () => {
    const index = new PolicyIndex();
    index.put(policyOf({ kind: 'Mesh' }, { zone: 'east', namespace: 'shop', role: 'consumer' }, 'of-shop'));
    const candidates = (namespace: string): string[] => {
      const proxy = parseDataplane(makeDataplane('web', { zone: 'east', namespace }));
      return [...index.candidates(proxy)].map(({ displayName }) => displayName);
    };
    expect([candidates('shop'), candidates('bank')]).toEqual([['of-shop'], []]);
  });

  it.each<[what: string, made: Made, zones: string[]]>([
    ['of a system namespace of a zone', { zone: 'east', role: 'system' }, ['east']],
    ['of a system namespace on global', { role: 'system' }, ['east', 'west']],
    ['of a zone and of no namespace', { zone: 'east' }, ['east']],
    ['of the producer in a zone', { zone: 'east', role: 'producer' }, ['east', 'west']],
  ])('%s is shared by all proxies of its zones', (_, made, zones) => {
    const index = new PolicyIndex();
    index.put(policyOf({ kind: 'Mesh' }, made));
    expect(['east', 'west'].filter((zone) => index.shared({ zone, origin: 'zone' }).length > 0)).toEqual(zones);
  });
});
