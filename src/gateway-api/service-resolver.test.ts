import { describe, expect, it } from 'vitest';
import type { Labels } from '../resource/types.ts';
import type { ObjectRef } from './gateway-route.ts';
import { serviceResolver, type StoredService } from './service-resolver.ts';

const service = (name: string, labels: Labels, rest: Partial<StoredService> = {}): StoredService => ({
  type: 'MeshService',
  mesh: 'default',
  name,
  labels: { 'kuma.io/display-name': 'cart', ...labels },
  spec: { ports: [{ port: 80, name: rest.name ?? name }] },
  ...rest,
});
const cart = (rest: Partial<ObjectRef> = {}): ObjectRef => ({
  group: '',
  kind: 'Service',
  name: 'cart',
  namespace: undefined,
  ...rest,
});

/** The name of the resource that was found, or the whole answer. */
function found(services: readonly StoredService[], ref: ObjectRef, zone: string | null = 'east'): unknown {
  const resolution = serviceResolver(services, 'default', zone)(ref);
  return 'found' in resolution ? resolution.found.ports[0]?.name : resolution;
}

describe('serviceResolver', () => {
  const east = service('in-east', { 'kuma.io/zone': 'east', 'k8s.kuma.io/namespace': 'shop' });
  const west = service('in-west', { 'kuma.io/zone': 'west', 'k8s.kuma.io/namespace': 'shop' });
  const bare = service('bare', {});

  it('prefers a service of its own zone to one of another zone', () => {
    const older = { ...west, creationTime: new Date(1) };
    const newer = { ...east, name: 'z-in-east', creationTime: new Date(2) };
    expect(found([older, newer], cart({ namespace: 'shop' }), 'east')).toBe('in-east');
    expect(found([east, west], cart({ namespace: 'shop' }), 'west')).toBe('in-west');
    expect(found([west], cart({ namespace: 'shop' }))).toBe('in-west');
    expect(found([west, east], cart({ namespace: 'shop' }), null)).toBe('in-east');
  });

  it('takes the oldest of several services', () => {
    const older = { ...west, name: 'z', creationTime: new Date(1) };
    expect(found([{ ...east, creationTime: new Date(2) }, older], cart({ namespace: 'shop' }), null)).toBe('in-west');
  });

  it('requires an equal namespace, or a service without one', () => {
    expect(found([bare], cart())).toBe('bare');
    expect(found([east], cart())).toBe('in-east');
    expect(found([bare, west], cart({ namespace: 'billing' }))).toEqual({
      missing: 'this mesh has one of that name in namespace "shop" and without a namespace alone',
    });
  });

  it('finds services of the same mesh and kind only', () => {
    expect(found([{ ...bare, mesh: 'other' }], cart())).toEqual({ missing: 'this mesh has nothing of that name' });
    expect(found([{ ...bare, type: 'MeshMultiZoneService' }], cart())).toHaveProperty('missing');
    expect(found([{ ...bare, type: 'MeshMultiZoneService' }], cart({ group: 'kuma.io', kind: 'MeshMultiZoneService' }))).toBe(
      'bare',
    );
  });

  it('does not resolve custom kinds', () => {
    expect(found([bare], cart({ group: 'networking.acme.io', kind: 'server' }))).toEqual({
      foreign: 'nothing here resolves the kind server.networking.acme.io',
    });
    expect(found([bare], cart({ kind: 'ConfigMap' }))).toEqual({ foreign: 'nothing here resolves the kind ConfigMap' });
  });

  it('reads ports of any shape without an error', () => {
    const resolution = serviceResolver(
      [{ ...bare, spec: { ports: [null, 'x', { port: '80' }, { port: 81, name: 5 }] } }],
      'default',
      null,
    )(cart());
    expect(resolution).toMatchObject({ found: { ports: [{ port: 81 }] } });
  });
});
