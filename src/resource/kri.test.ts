import { describe, expect, it } from 'vitest';
import { kriOf, parseKri } from './kri.ts';

describe('kriOf', () => {
  const labels = { 'kuma.io/zone': 'zone-1', 'k8s.kuma.io/namespace': 'backend-ns', 'kuma.io/display-name': 'backend' };

  it('is the same for the stored name and the wire name of a resource', () => {
    const kri = 'kri_msvc_default_zone-1_backend-ns_backend_';
    expect(kriOf({ type: 'MeshService', mesh: 'default', name: 'backend-5b4f4xdx76x7zxxx', labels })).toBe(kri);
    expect(kriOf({ type: 'MeshService', mesh: 'default', name: 'backend.backend-ns', labels })).toBe(kri);
  });

  it('keeps empty parts and appends the section', () => {
    expect(kriOf({ type: 'MeshHTTPRoute', mesh: 'envoyconfig', name: 'route-1', labels: {} })).toBe(
      'kri_mhttpr_envoyconfig___route-1_',
    );
    expect(kriOf({ type: 'MeshService', mesh: 'default', name: 'b', labels }, 'http')).toBe(
      'kri_msvc_default_zone-1_backend-ns_backend_http',
    );
  });

  it('has only the name of a Mesh', () => {
    expect(kriOf({ type: 'Mesh', mesh: '', name: 'default', labels })).toBe('kri_m____default_');
  });

  it('is null for a type without a short name', () => {
    expect(kriOf({ type: 'Secret', mesh: 'default', name: 'key', labels: {} })).toBeNull();
  });
});

it.each([
  ['kri_msvc_default_east_shop_cart_http', 'default', 'MeshService', 'kri_msvc_default_east_shop_cart_', 'http'],
  ['kri_extsvc_default___payments_443', 'default', 'MeshExternalService', 'kri_extsvc_default___payments_', '443'],
  [
    'kri_mhttpr_default_east_shop_cart-route_rule_0',
    'default',
    'MeshHTTPRoute',
    'kri_mhttpr_default_east_shop_cart-route_',
    'rule_0',
  ],
  ['kri_dp_default_east__web-1_', 'default', 'Dataplane', 'kri_dp_default_east__web-1_', ''],
  ['kri_msvc_my_mesh_east_shop_cart_', 'my_mesh', 'MeshService', 'kri_msvc_my_mesh_east_shop_cart_', ''],
  ['kri_m____default_', 'default', 'Mesh', 'kri_m____default_', ''],
])('%s', (kri, mesh, type, base, section) => {
  expect(parseKri(kri, mesh)).toEqual({ type, base, section });
});

it.each([
  '',
  'kri',
  'kri_msvc',
  'kri_nope_default___a_',
  'kri_msvc_default_a_b_c',
  'kri_msvc_other___a_',
  'kri_meshservices_default___a_',
])('refuses %j', (kri) => {
  expect(parseKri(kri, 'default')).toBeNull();
});
