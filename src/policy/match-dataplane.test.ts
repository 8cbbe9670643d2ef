// The proxies that a policy matches (policies 1.7, D14, D15), and the reasons for the others.
import { describe, expect, it } from 'vitest';
import { makeDataplane, makeRoute, makeService, makeTo, type Made } from '../../test/policy/make-resource.ts';
import type { JsonObject, Resource } from '../resource/types.ts';
import { buildRules } from './build-rules.ts';
import { matchDataplane, type Match } from './match-dataplane.ts';
import { MeshIndex } from './mesh-index.ts';

function match(dataplane: Resource, top: JsonObject | undefined, made: Made = {}, others: Resource[] = []): Match {
  // In other zones a producer policy has an effect on services of its own zone alone.
  const target = made.role === 'producer' ? { kind: 'MeshService', name: 'of-producer' } : { kind: 'Mesh' };
  const policy = makeTo('MeshTimeout', 'p', target, { http: { requestTimeout: '1s' } }, made, top);
  const index = new MeshIndex('default', [dataplane, policy, makeService('of-producer', made), ...others]);
  const [proxy] = index.proxies();
  const parsed = index.policyOf(policy);
  if (proxy === undefined || parsed === undefined) throw new Error('not indexed');
  const found = matchDataplane(parsed, proxy, index);
  // The index finds exactly the policies that match.
  const types = buildRules(index, proxy).types.filter(({ toRules, oldRules }) => toRules.size + oldRules.length > 0);
  expect(types.some(({ type }) => type === 'MeshTimeout')).toBe(found.isMatched);
  return found;
}

const sectionsOf = (found: Match): string[] | string =>
  found.isMatched ? found.sections.map(({ section }) => section) : found.reason;
const EAST: Made = { zone: 'east', namespace: 'shop', labels: { app: 'web' } };
const web = makeDataplane('web-1', EAST, {
  inbound: [
    { port: 8080, name: 'http', tags: { version: 'v1' } },
    { port: 9090, tags: { version: 'v2' } },
  ],
});
const gateway = makeDataplane('gw', EAST, { inbound: [], gateway: { tags: { 'kuma.io/service': 'gw' } } });
const zoneProxy = makeDataplane('zp', EAST, {
  inbound: [],
  zoneIngress: { address: '10.0.0.1', port: 10001, name: 'zi' },
  zoneEgress: { address: '10.0.0.1', port: 10002 },
});

describe('the zone', () => {
  it.each([
    ['system', 'west', false],
    ['system', 'east', true],
    ['consumer', 'west', false],
    ['producer', 'west', true],
  ])('of a %s policy of %s', (role, zone, expected) => {
    expect(match(web, undefined, { zone, namespace: 'shop', role }).isMatched).toBe(expected);
  });

  it.each([
    ['west', 'disabled', false],
    ['east', 'disabled', true],
    ['west', 'enabled', true],
  ])('of a producer policy of %s whose kds-sync is %s', (zone, sync, expected) => {
    const labels = { 'kuma.io/kds-sync': sync };
    expect(match(web, undefined, { zone, namespace: 'shop', role: 'producer', labels }).isMatched).toBe(expected);
  });

  it('does not matter when the Dataplane or the policy has no zone', () => {
    expect(match(makeDataplane('web-1', { origin: 'global' }), undefined, { zone: 'west' }).isMatched).toBe(true);
    expect(match(web, undefined).isMatched).toBe(true);
  });
});

describe('the namespace', () => {
  it.each([
    ['consumer', 'other', false],
    ['workload-owner', 'other', false],
    ['consumer', 'shop', true],
    ['system', 'other', true],
  ])('of a %s policy in %s', (role, namespace, expected) => {
    expect(match(web, undefined, { zone: 'east', namespace, role }).isMatched).toBe(expected);
  });
});

describe('the top-level targetRef', () => {
  it.each<[string, JsonObject, string[] | null]>([
    ['Mesh', { kind: 'Mesh' }, ['http', '9090']],
    ['Mesh for sidecars', { kind: 'Mesh', proxyTypes: ['Sidecar'] }, ['http', '9090']],
    ['Mesh for gateways', { kind: 'Mesh', proxyTypes: ['Gateway'] }, null],
    ['every Dataplane', { kind: 'Dataplane' }, ['http', '9090']],
    ['Dataplane by name', { kind: 'Dataplane', name: 'web-1', namespace: 'shop' }, ['http', '9090']],
    ['Dataplane by another name', { kind: 'Dataplane', name: 'web-2' }, null],
    ['Dataplane by labels', { kind: 'Dataplane', labels: { app: 'web' } }, ['http', '9090']],
    ['Dataplane by other labels', { kind: 'Dataplane', labels: { app: 'web', x: 'y' } }, null],
    ['Dataplane by display name', { kind: 'Dataplane', labels: { 'kuma.io/display-name': 'web-1' } }, ['http', '9090']],
    ['a section by name', { kind: 'Dataplane', sectionName: 'http' }, ['http']],
    ['a section by port', { kind: 'Dataplane', sectionName: '9090' }, ['9090']],
    ['the port of a named section', { kind: 'Dataplane', sectionName: '8080' }, null],
    ['MeshSubset by tag', { kind: 'MeshSubset', tags: { version: 'v2' } }, ['9090']],
    ['MeshSubset by label where no inbound has the tag', { kind: 'MeshSubset', tags: { app: 'web' } }, ['http', '9090']],
    ['MeshSubset by tag and label', { kind: 'MeshSubset', tags: { version: 'v1', app: 'web' } }, ['http']],
    ['MeshSubset without such a tag', { kind: 'MeshSubset', tags: { version: 'v3' } }, null],
    ['MeshGateway', { kind: 'MeshGateway', name: 'web-1' }, null],
  ])('%s', (_, top, expected) => {
    const found = match(web, top);
    expect(found.isMatched ? sectionsOf(found) : null).toEqual(expected);
  });

  it('selects the listeners of zone proxies by name or port (MADR 095)', () => {
    expect(sectionsOf(match(zoneProxy, undefined))).toEqual(['zi', '10002']);
    expect(sectionsOf(match(zoneProxy, { kind: 'Dataplane', sectionName: 'zi' }))).toEqual(['zi']);
    expect(sectionsOf(match(zoneProxy, { kind: 'Dataplane', name: 'zp', namespace: 'shop', sectionName: '10002' }))).toEqual([
      '10002',
    ]);
  });

  it('matches a delegated gateway without sections, and no other proxy without sections', () => {
    expect(match(gateway, undefined)).toEqual({ isMatched: true, sections: [] });
    expect(match(gateway, { kind: 'Mesh', proxyTypes: ['Gateway'] }).isMatched).toBe(true);
    expect(match(gateway, { kind: 'MeshSubset', tags: { 'kuma.io/service': 'gw' } }).isMatched).toBe(true);
    expect(match(makeDataplane('empty', {}, { inbound: [] }), undefined).isMatched).toBe(false);
  });

  it('follows a route at the top to the proxies of the route (old form)', () => {
    const route = makeRoute('r', { name: 'backend' }, '/', {}, { kind: 'MeshSubset', tags: { version: 'v1' } });
    const top = { kind: 'MeshHTTPRoute', name: 'r' };
    expect(sectionsOf(match(web, top, {}, [route]))).toEqual(['http']);
    expect(match(web, top)).toMatchObject({ isMatched: false, isUnresolved: true });
    expect(match(web, top, { zone: 'east', namespace: 'shop', role: 'consumer' }, [route]).isMatched).toBe(false);
    const elsewhere = makeRoute('r', { name: 'backend' }, '/', {}, { kind: 'MeshSubset', tags: { version: 'v3' } });
    expect(match(web, top, {}, [elsewhere])).toEqual({
      isMatched: false,
      reason: 'targets MeshHTTPRoute r, which is on other proxies',
    });
  });

  it('follows no route whose own target is a route, such as itself', () => {
    const top = { kind: 'MeshHTTPRoute', name: 'r' };
    const route = makeRoute('r', { name: 'backend' }, '/', {}, top);
    expect(match(web, top, {}, [route]).isMatched).toBe(false);
  });
});

it('a policy with kuma.io/effect shadow matches no proxy, with a reason', () => {
  expect(sectionsOf(match(web, undefined, { labels: { 'kuma.io/effect': 'shadow' } }))).toMatch(/shadow/);
});
