import { describe, expect, it } from 'vitest';
import { make, makeDataplane, makeService, type Made } from '../../test/policy/make-resource.ts';
import type { JsonObject } from '../resource/types.ts';
import { MeshIndex } from './mesh-index.ts';
import { selectedDataplanes, servicePorts } from './services.ts';

describe('the ports of a service', () => {
  it('are those of its spec, with their number where they have no name, and TCP where they have no protocol', () => {
    expect(servicePorts(makeService('a'))).toEqual([
      { section: '80', port: 80, protocol: 'http' },
      { section: 'admin', port: 90, protocol: 'tcp' },
    ]);
    expect(servicePorts(make('MeshMultiZoneService', 'a', { ports: [{ port: 80, name: 'web' }] }))).toEqual([
      { section: 'web', port: 80, protocol: 'tcp' },
    ]);
  });

  it.each<[JsonObject, object[]]>([
    [{ match: { port: 443, protocol: 'http' } }, [{ section: '443', port: 443, protocol: 'http' }]],
    [{ match: { port: 443 } }, [{ section: '443', port: 443, protocol: 'tcp' }]],
    [{ match: {}, ports: [{ port: 80 }] }, []],
    [{}, []],
  ])('of an external service are the port of its match: %j', (spec, expected) => {
    expect(servicePorts(make('MeshExternalService', 'a', spec))).toEqual(expected);
  });

  it('are none for another type', () => {
    expect(servicePorts(make('MeshHTTPRoute', 'a', { ports: [{ port: 80 }] }))).toEqual([]);
  });
});

describe('the proxies of a service', () => {
  const inbound = [
    { port: 80, tags: { app: 'a', tier: 'web' } },
    { port: 81, tags: { app: 'b' } },
  ];
  const east: Made = { zone: 'east', namespace: 'shop' };
  const proxies = [
    makeDataplane('two', { ...east, labels: { app: 'a' } }, { inbound }),
    makeDataplane('one', { ...east, labels: { app: 'a' } }),
    makeDataplane('far', { zone: 'west', namespace: 'shop', labels: { app: 'a' } }, { inbound }),
    makeDataplane('other', { zone: 'east', namespace: 'other', labels: { app: 'a' } }, { inbound }),
  ];

  const selected = (selector: JsonObject, made: Made = east): string[] => {
    const service = make('MeshService', 's', { selector }, made);
    const index = new MeshIndex('default', [...proxies, service]);
    return selectedDataplanes(index, service).map(({ displayName }) => displayName);
  };

  it.each<[JsonObject, string[]]>([
    [{ dataplaneLabels: { matchLabels: { app: 'a' } } }, ['one', 'two']],
    [{ dataplaneLabels: { matchLabels: { app: 'b' } } }, []],
    [{ dataplaneLabels: { matchLabels: {} } }, []],
    [{ dataplaneTags: { app: 'a', tier: 'web' } }, ['two']],
    [{ dataplaneTags: { app: 'b', tier: 'web' } }, []],
    [{ dataplaneTags: { app: 'b' } }, ['two']],
    [{ dataplaneTags: {} }, []],
    [{ dataplaneRef: { name: 'one' } }, ['one']],
    [{ dataplaneRef: { name: 'one.shop' } }, ['one']],
    [{ dataplaneRef: { name: 'one.other' } }, []],
    [{ dataplaneRef: { name: 'one' }, dataplaneTags: { app: 'b' } }, ['one']],
    [{}, []],
  ])('are those of its zone and namespace that %j selects, by name', (selector, expected) => {
    expect(selected(selector)).toEqual(expected);
  });

  it('are of every namespace where the service has none', () => {
    expect(selected({ dataplaneLabels: { matchLabels: { app: 'a' } } }, { zone: 'east' })).toEqual(['one', 'other', 'two']);
  });

  it('of a service of many zones are those of the services that it matches, each once', () => {
    const part = (name: string, zone: string, tier: string): ReturnType<typeof make> =>
      make('MeshService', name, { selector: { dataplaneLabels: { matchLabels: { app: 'a' } } } }, { zone, labels: { tier } });
    const parts = [part('a', 'east', 'x'), part('b', 'east', 'x'), part('c', 'west', 'x'), part('d', 'west', 'y')];
    const of = (matchLabels: JsonObject): string[] => {
      const service = make('MeshMultiZoneService', 'm', { selector: { meshService: { matchLabels } } });
      const index = new MeshIndex('default', [...proxies, ...parts, service]);
      return selectedDataplanes(index, service).map(({ displayName }) => displayName);
    };
    expect(of({ tier: 'x' })).toEqual(['far', 'one', 'other', 'two']);
    expect(of({ tier: 'y' })).toEqual(['far']);
    expect(of({})).toEqual([]);
  });
});
