import { describe, expect, it } from 'vitest';
import { resourceTypes, typeOf } from '../../resource/type-registry.ts';
import { applyable } from '../../document/universal-form.ts';
import { exportedTypes, isComputed, isCopy } from './apply-order.ts';

describe('an export', () => {
  it('lists resources before the resources that need them, without insights, and with secrets only on request', () => {
    const names = exportedTypes({ secrets: false, mode: 'global' }).map(({ name }) => name);
    expect(names[0]).toBe('Mesh');
    expect(names.indexOf('HostnameGenerator')).toBeLessThan(names.indexOf('MeshService'));
    expect(names.indexOf('MeshService')).toBeLessThan(names.indexOf('MeshTimeout'));
    for (const name of ['Secret', 'GlobalSecret', 'ZoneInsight', 'DataplaneInsight', 'Config']) expect(names).not.toContain(name);
    expect(exportedTypes({ secrets: true, mode: 'global' }).map(({ name }) => name)).toEqual(
      expect.arrayContaining(['Secret', 'GlobalSecret']),
    );
  });

  it('includes the Zones of a global, but not the Zone that a zone creates for itself', () => {
    const namesOf = (mode: string | undefined): string[] => exportedTypes({ secrets: false, mode }).map(({ name }) => name);
    expect(namesOf('global')).toContain('Zone');
    expect(namesOf('zone')).not.toContain('Zone');
  });

  it('lists types of Meridian for Meridian alone', () => {
    const own = resourceTypes.filter(({ isOwn }) => isOwn);
    const namesOf = (product: string): string[] =>
      exportedTypes({ secrets: true, mode: 'global', product }).map(({ name }) => name);
    expect(namesOf('Meridian').filter((name) => own.some((one) => one.name === name))).not.toEqual([]);
    for (const { name } of own) expect(namesOf('Kuma')).not.toContain(name);
  });

  it('recognizes what a control plane computes by its manager', () => {
    const managedBy = (value: string): boolean =>
      isComputed({ type: 'MeshService', name: 'cart', labels: { 'kuma.io/managed-by': value } });
    expect(managedBy('meshservice-generator')).toBe(true);
    expect(managedBy('terraform')).toBe(false);
    expect(isComputed({ type: 'MeshService', name: 'cart' })).toBe(false);
  });

  it('omits computed fields', () => {
    const item = {
      type: 'MeshService',
      name: 'cart',
      mesh: 'shop',
      creationTime: '2026-01-01T00:00:00Z',
      modificationTime: '2026-01-01T00:00:00Z',
      labels: { 'kuma.io/display-name': 'cart', 'kuma.io/origin': 'zone', 'kuma.io/zone': 'east', team: 'a' },
      kri: 'kri_msvc_shop_east__cart_',
      snis: [],
      spec: { ports: [{ port: 80 }], state: 'Available', identities: [], zoneIngress: { address: '192.0.2.1' } },
      status: { vips: [] },
    };
    const body = applyable(typeOf('MeshService'), item);
    expect(body).toEqual({
      type: 'MeshService',
      mesh: 'shop',
      name: 'cart',
      labels: { team: 'a' },
      spec: { ports: [{ port: 80 }] },
    });
    expect(Object.keys(body)).toEqual(['type', 'mesh', 'name', 'labels', 'spec']);
  });

  it('recognizes a copy by its origin', () => {
    const from = (origin: string): Parameters<typeof isCopy>[0] => ({
      type: 'MeshTimeout',
      name: 't',
      labels: { 'kuma.io/origin': origin },
    });
    expect(isCopy(from('zone'), 'global')).toBe(true);
    expect(isCopy(from('global'), 'global')).toBe(false);
    expect(isCopy(from('global'), 'zone')).toBe(true);
    expect(isCopy({ type: 'Mesh', name: 'default' }, 'global')).toBe(false);
  });
});
