import { describe, expect, it } from 'vitest';
import { kriOf } from './kri.ts';

describe('kriOf', () => {
  const labels = { 'kuma.io/zone': 'zone-1', 'k8s.kuma.io/namespace': 'backend-ns', 'kuma.io/display-name': 'backend' };

  it('names a resource alike under its own name and its name on the wire', () => {
    const kri = 'kri_msvc_default_zone-1_backend-ns_backend_';
    expect(kriOf({ type: 'MeshService', mesh: 'default', name: 'backend-5b4f4xdx76x7zxxx', labels })).toBe(kri);
    expect(kriOf({ type: 'MeshService', mesh: 'default', name: 'backend.backend-ns', labels })).toBe(kri);
  });

  it('keeps empty slots and appends the section', () => {
    expect(kriOf({ type: 'MeshHTTPRoute', mesh: 'envoyconfig', name: 'route-1', labels: {} })).toBe(
      'kri_mhttpr_envoyconfig___route-1_',
    );
    expect(kriOf({ type: 'MeshService', mesh: 'default', name: 'b', labels }, 'http')).toBe(
      'kri_msvc_default_zone-1_backend-ns_backend_http',
    );
  });

  it('names a Mesh by its name alone', () => {
    expect(kriOf({ type: 'Mesh', mesh: '', name: 'default', labels })).toBe('kri_m____default_');
  });

  it('is null for a type without a short name', () => {
    expect(kriOf({ type: 'Secret', mesh: 'default', name: 'key', labels: {} })).toBeNull();
  });
});
