import { describe, expect, it } from 'vitest';
import { typeOf } from '../../resource/type-registry.ts';
import { applyable } from '../../document/universal-form.ts';
import { exportedTypes, isCopy } from './apply-order.ts';

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
