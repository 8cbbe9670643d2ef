// The oracle of the chaos tests against the examples of the reference.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { goesDown, goesUp, inZone, onGlobal, wireName, type Row } from './expected-rows.ts';

function row(type: string, fields: Partial<Row> = {}): Row {
  return { type, mesh: 'default', name: 'backend', labels: {}, spec: {}, status: {}, owner: null, isCopy: false, ...fields };
}

describe('the expected rows of the chaos tests', () => {
  it('follow one MeshService from its zone over global to another zone (kds-wire 5.4.4)', () => {
    const own = row('MeshService', { spec: { state: 'Available' }, status: { vips: [] } });
    expect(goesUp(own)).toBe(true);
    const copy = onGlobal(own, 'zone-1');
    const name = 'backend-d8466458x7574b7b';
    const labels = { 'kuma.io/origin': 'zone', 'kuma.io/zone': 'zone-1', 'kuma.io/display-name': 'backend' };
    const owner = { type: 'Zone', mesh: '', name: 'zone-1' };
    expect(copy).toEqual({ ...own, name, labels, owner, isCopy: true });
    expect([goesDown(copy, 'zone-1'), goesDown(copy, 'zone-2'), goesUp(copy)]).toEqual([false, true, false]);
    expect(inZone(copy)).toEqual({ ...copy, labels: { ...labels, 'kuma.io/origin': 'global' }, owner: null, status: {} });
  });

  it.each([
    ['default', 'mesh-timeout-all-default', {}, 'mesh-timeout-all-default-bv8z44b7bzb99xc7'],
    ['default', 'backend', { 'kuma.io/zone': 'zone-1', 'k8s.kuma.io/namespace': 'kuma-demo' }, 'backend-5b4f4xdx76x7zxxx'],
    ['', 'local-universal-mesh-service', { 'kuma.io/zone': 'zone-1' }, 'local-universal-mesh-service-6b9f24zbvcd8db4x'],
    ['', 'synced-universal-mesh-service', {}, 'synced-universal-mesh-service-46484vczc724vc29'],
  ])('have the names of kds-wire 5.5: mesh "%s", %s, %o', (mesh, name, labels, expected) => {
    expect(wireName({ mesh, name, labels })).toBe(expected);
  });

  it('do not include rows that are not synced', () => {
    const stays = [
      row('Config', { mesh: '', name: 'kuma-feature-flags' }),
      row('GlobalSecret', { mesh: '', name: 'user-token-signing-key-1' }),
      row('MeshTimeout', { labels: { 'kuma.io/kds-sync': 'disabled' } }),
      row('MeshTimeout', { isCopy: true }),
      row('Workload'),
    ];
    expect(stays.filter((one) => goesDown(one, 'zone-1'))).toEqual([]);
  });

  it('share no code with the product', () => {
    const text = readFileSync(join(import.meta.dirname, 'expected-rows.ts'), 'utf8');
    expect(text.match(/^import (?!type )[^;]*src\/.*$/gm)).toBeNull();
  });
});
