// KRIs of policies 3.1 taken apart.
import { expect, it } from 'vitest';
import { parseKri } from './parse-kri.ts';

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
