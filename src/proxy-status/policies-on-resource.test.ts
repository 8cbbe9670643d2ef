import { describe, expect, it } from 'vitest';
import { make, makeDataplane, makeRoute, makeService, makeTo } from '../../test/policy/make-resource.ts';
import { MeshIndex } from '../policy/mesh-index.ts';
import { objectOf } from '../resource/read-json.ts';
import type { Resource } from '../resource/types.ts';
import { findsPolicies } from './policies-on-resource.ts';

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

const payRef = { kind: 'MeshService', labels: { 'kuma.io/display-name': 'pay' }, port: 80 };
const targetRef = { kind: 'MeshService', labels: { 'kuma.io/display-name': 'cart' } };

/** A proxy with one outbound, to cart; the mesh has the service pay too. */
function indexOfCartOutbound(...rows: Resource[]): MeshIndex {
  const web = makeDataplane('web-1', { zone: 'east', namespace: 'web' });
  const outbound = [{ port: 10_001, backendRef: { ...targetRef, port: 80 } }];
  return new MeshIndex('default', [
    { ...web, spec: { ...web.spec, networking: { ...objectOf(web.spec['networking']), outbound } } },
    makeService('cart', { zone: 'east', namespace: 'shop' }),
    makeService('pay', { zone: 'east', namespace: 'shop' }),
    ...rows,
  ]);
}

function policiesOn(name: string, of = index): string[] {
  const [proxy] = of.proxies();
  if (proxy === undefined) throw new Error('no proxy');
  return findsPolicies(of, proxy)(name).map((kri) => kri.split('_').at(-2) ?? '');
}

describe('the policies on a resource', () => {
  it('are those of the inbound and of the whole proxy, the one that changed last first', () => {
    expect(policiesOn('self_inbound_dp_http')).toEqual(['in', 'traced']);
  });

  it('are those of the destination, of its routes and on them', () => {
    expect(policiesOn('kri_msvc_default_east_shop_cart_80')).toEqual(['routed', 'slow', 'all', 'traced']);
    expect(policiesOn('kri_msvc_default_east_shop_pay_80')).toEqual(['all', 'traced']);
  });

  it.each([
    ['requests', { backendRefs: [payRef] }],
    ['copies of requests', { filters: [{ type: 'RequestMirror', requestMirror: { backendRef: payRef } }] }],
  ])('are those of a service that only a route leads %s to, and the route', (_, conf) => {
    const rules = [{ matches: [{ path: { type: 'PathPrefix', value: '/' } }], default: conf }];
    const listing = indexOfCartOutbound(
      makeService('mail', { zone: 'east', namespace: 'shop' }),
      at(4, make('MeshHTTPRoute', 'split', { to: [{ targetRef, rules }] })),
      at(2, makeTo('MeshTimeout', 'of-pay', { kind: 'MeshService', labels: payRef.labels }, { connectionTimeout: '7s' })),
      at(3, makeTo('MeshTimeout', 'of-cart', targetRef, { connectionTimeout: '6s' })),
    );
    expect(policiesOn('kri_msvc_default_east_shop_pay_80', listing)).toEqual(['split', 'of-pay']);
    expect(policiesOn('kri_msvc_default_east_shop_mail_80', listing)).toEqual([]);
  });

  it('leave out a MeshTCPRoute that does nothing because a MeshHTTPRoute on the same outbound comes first', () => {
    const conf = { backendRefs: [payRef] };
    const http = [{ matches: [{ path: { type: 'PathPrefix', value: '/' } }], default: conf }];
    const routed = indexOfCartOutbound(
      at(1, make('MeshHTTPRoute', 'split', { to: [{ targetRef, rules: http }] })),
      at(2, make('MeshTCPRoute', 'unused', { to: [{ targetRef, rules: [{ default: conf }] }] })),
    );
    for (const service of ['pay', 'cart'])
      expect(policiesOn(`kri_msvc_default_east_shop_${service}_80`, routed)).toEqual(['split']);
  });

  it('are those of the whole proxy where the name says nothing', () => {
    expect(policiesOn('system_x')).toEqual(['traced']);
  });
});
