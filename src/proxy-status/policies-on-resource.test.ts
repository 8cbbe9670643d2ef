import { describe, expect, it } from 'vitest';
import { make, makeDataplane, makeRoute, makeService, makeTo } from '../../test/policy/make-resource.ts';
import { MeshIndex } from '../policy/mesh-index.ts';
import type { Resource } from '../resource/types.ts';
import { policiesOnResource } from './policies-on-resource.ts';

const at = (second: number, row: Resource): Resource => ({ ...row, modificationTime: new Date(second * 1000) });

const index = new MeshIndex('default', [
  makeDataplane('web-1', { zone: 'east', namespace: 'web' }),
  makeService('cart', { zone: 'east', namespace: 'shop' }),
  makeService('pay', { zone: 'east', namespace: 'shop' }),
  at(3, makeRoute('slow', { labels: { 'kuma.io/display-name': 'cart' } }, '/slow')),
  at(2, makeTo('MeshTimeout', 'all', { kind: 'Mesh' }, { connectionTimeout: '5s' })),
  at(4, makeTo('MeshTimeout', 'routed', { kind: 'MeshHTTPRoute', name: 'slow' }, { http: { requestTimeout: '30s' } })),
  at(5, make('MeshTimeout', 'in', { rules: [{ default: { idleTimeout: '7s' } }] })),
  at(1, make('MeshTrace', 'traced', { default: { sampling: { overall: 80 } } })),
]);

function policiesOn(name: string): string[] {
  const [proxy] = index.proxies();
  if (proxy === undefined) throw new Error('no proxy');
  return policiesOnResource(index, proxy, name).map((kri) => kri.split('_').at(-2) ?? '');
}

describe('the policies on a resource', () => {
  it('are those of the inbound and of the whole proxy, the one that changed last first', () => {
    expect(policiesOn('self_inbound_dp_http')).toEqual(['in', 'traced']);
  });

  it('are those of the destination, of its routes and on them', () => {
    expect(policiesOn('kri_msvc_default_east_shop_cart_80')).toEqual(['routed', 'slow', 'all', 'traced']);
    expect(policiesOn('kri_msvc_default_east_shop_pay_80')).toEqual(['all', 'traced']);
  });

  it('are those of the whole proxy where the name says nothing', () => {
    expect(policiesOn('system_x')).toEqual(['traced']);
  });
});
