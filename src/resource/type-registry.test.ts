import { describe, expect, it } from 'vitest';
import { planOf } from '../wire/message-plan.ts';
import { findType, findTypeByAnyName, resourceTypes, typeOf } from './type-registry.ts';

const names = (types: typeof resourceTypes): string[] => types.map(({ name }) => name);

describe('the registry of types, kds-wire 3', () => {
  it('has 29 types that a zone subscribes to', () => {
    const subscribed = resourceTypes.filter(({ kds }) => kds.globalToZone || kds.acrossZones);
    expect(subscribed).toHaveLength(29);
    expect(names(subscribed.filter(({ policy }) => policy === null))).toEqual([
      'Mesh',
      'ServiceInsight',
      'Config',
      'Secret',
      'GlobalSecret',
      'HostnameGenerator',
      'MeshService',
      'MeshMultiZoneService',
      'MeshExternalService',
      'MeshIdentity',
      'MeshTrust',
      'MeshOpenTelemetryBackend',
      'MeshZoneAddress',
    ]);
  });

  it('has 26 types that the global subscribes to', () => {
    const subscribed = resourceTypes.filter(({ kds }) => kds.zoneToGlobal);
    expect(subscribed).toHaveLength(26);
    expect(names(subscribed.filter(({ policy }) => policy === null))).toEqual([
      'Dataplane',
      'DataplaneInsight',
      'HostnameGenerator',
      'MeshService',
      'MeshExternalService',
      'MeshIdentity',
      'MeshTrust',
      'MeshOpenTelemetryBackend',
      'MeshZoneAddress',
      'Workload',
    ]);
  });

  it('has 16 policies, in the order in which plugins apply', () => {
    const orders = resourceTypes.flatMap(({ policy }) => (policy === null ? [] : [policy.order]));
    expect(orders).toHaveLength(16);
    expect(orders).toEqual([...orders].sort((a, b) => a - b));
  });

  it('sends four types under their own names', () => {
    expect(names(resourceTypes.filter(({ kds }) => kds.skipHash))).toEqual(['Mesh', 'Config', 'Secret', 'GlobalSecret']);
  });

  it('has each path and short name once', () => {
    const paths = resourceTypes.flatMap(({ path, aliases }) => (path === '' ? [] : [path, ...aliases]));
    const shorts = resourceTypes.flatMap(({ shortName }) => (shortName === null ? [] : [shortName]));
    expect(new Set(paths).size).toBe(paths.length);
    expect(new Set(shorts).size).toBe(shorts.length);
  });

  it('names messages that exist in proto/', () => {
    for (const { codec } of resourceTypes) if (codec.kind === 'proto') expect(planOf(codec.message).name).toBe(codec.message);
  });

  it('has JSON objects as zero statuses', () => {
    for (const { zeroStatus } of resourceTypes) expect(JSON.parse(zeroStatus)).toBeTypeOf('object');
  });

  it.each(['MeshTimeout', 'meshtimeout', 'meshtimeouts', 'mt', 'MT'])('finds MeshTimeout by %s', (text) => {
    expect(findTypeByAnyName(text)?.name).toBe('MeshTimeout');
  });

  it('finds a hyphenated path in the singular too, as kumactl does', () => {
    expect(findTypeByAnyName('global-secret')?.name).toBe('GlobalSecret');
    expect(findTypeByAnyName('zone-insight')?.name).toBe('ZoneInsight');
  });

  it('finds a type by its exact name only, unless asked otherwise', () => {
    expect(findType('meshtimeout')).toBeUndefined();
    expect(findTypeByAnyName('constructor')).toBeUndefined();
    expect(() => typeOf('Nothing')).toThrow('unknown resource type "Nothing"');
  });
});
