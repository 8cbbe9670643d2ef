// The TLS of the services of a mesh, from rows as a zone and a global have them.
import { describe, expect, it } from 'vitest';
import { makeRow } from '../../test/support/make-row.ts';
import { MeshIndex } from '../policy/mesh-index.ts';
import { withDemandedTls } from '../policy/demanded-tls.ts';
import type { JsonObject, Labels, Resource } from '../resource/types.ts';
import { meshTlsView } from './mesh-tls-view.ts';

const east = { 'kuma.io/zone': 'east', 'kuma.io/origin': 'zone' };
const cartKri = 'kri_msvc_shop_east__cart_';

function row(type: string, name: string, spec: JsonObject, status: JsonObject = {}, labels: Labels = east): Resource {
  return makeRow(type, name, { mesh: 'shop', labels, spec, status });
}

const proxy = (name: string, app: string): Resource =>
  row('Dataplane', name, { networking: { address: '10.0.0.1', inbound: [{ port: 80, name: 'http' }] } }, {}, { ...east, app });
const service = (name: string, tls: JsonObject = {}): Resource =>
  row('MeshService', name, { selector: { dataplaneLabels: { matchLabels: { app: name } } }, ports: [{ port: 80 }] }, { tls });
const insight = (name: string, isCertified: boolean, plaintextTo: string[] = []): Resource =>
  row('DataplaneInsight', name, isCertified ? { mTLS: { issuedBackend: 'kri_mid_shop_east__identity_' } } : {}, {
    ...(isCertified && { tls: { isReady: true, plaintextTo } }),
  });
const identity = row('MeshIdentity', 'identity', { selector: { dataplane: { matchLabels: {} } } });

function stateOf(rows: readonly Resource[], insights: readonly Resource[]): { tls: string; reason: string }[] {
  return meshTlsView(new MeshIndex('shop', rows), insights).items.map(({ tls, reason }) => ({ tls, reason }));
}

describe('the TLS of a service', () => {
  const rows = [identity, proxy('cart-1', 'cart'), proxy('cart-2', 'cart'), service('cart', { status: 'Ready', enforced: true })];
  const both = [insight('cart-1', true), insight('cart-2', true)];

  it('is strict when all its proxies have a certificate and no client needs plain text', () => {
    const view = meshTlsView(new MeshIndex('shop', rows), both);
    expect(view).toEqual({
      mesh: 'shop',
      expectedBy: ['MeshIdentity'],
      services: { total: 1, strict: 1, permissive: 0, plaintext: 0 },
      items: [],
    });
  });

  it('is plain text when no proxy has a certificate, and permissive when one lacks it', () => {
    expect(stateOf(rows, [])).toEqual([{ tls: 'plaintext', reason: 'without a certificate of the mesh: cart-1, cart-2' }]);
    expect(stateOf(rows, [insight('cart-1', true)])).toEqual([
      { tls: 'permissive', reason: 'without a certificate of the mesh: cart-2' },
    ]);
  });

  it('is unknown where nothing is known of a proxy, and takes plain text where that is sure', () => {
    const ask = (name: string) => (dataplane: Resource) => (dataplane.name === name ? 'ask zone east' : '');
    const index = new MeshIndex('shop', rows);
    const view = meshTlsView(index, [insight('cart-1', true)], ask('cart-2'));
    expect(view.items.map(({ tls, reason }) => ({ tls, reason }))).toEqual([{ tls: 'unknown', reason: 'ask zone east' }]);
    expect(view.services).toEqual({ total: 1, strict: 0, permissive: 0, plaintext: 0, unknown: 1 });
    const [sure] = meshTlsView(index, [], ask('cart-2')).items;
    expect(sure).toMatchObject({ tls: 'permissive', reason: 'without a certificate of the mesh: cart-1' });
  });

  it('is permissive while clients call it in plain text, and names three of them', () => {
    const waiting = rows.with(3, service('cart', { status: 'Ready' }));
    const callers = ['a', 'b', 'c', 'd'].map((name) => `web-${name}`);
    const all = [...waiting, ...callers.map((name) => proxy(name, 'web'))];
    expect(stateOf(all, [...both, ...callers.map((name) => insight(name, true, [cartKri]))])).toEqual([
      { tls: 'permissive', reason: 'called in plain text by web-a, web-b, web-c and 1 more' },
    ]);
    expect(stateOf(waiting, both)).toEqual([
      { tls: 'permissive', reason: 'not all proxies of the mesh have said how they call it' },
    ]);
    expect(stateOf(rows.with(3, service('cart')), both)).toEqual([{ tls: 'permissive', reason: 'its status has no TLS yet' }]);
  });

  it('is strict when all its proxies demand TLS, also while its status does not say so', () => {
    const strict = ['cart-1', 'cart-2'].map((name) => ({ ...proxy(name, 'cart'), status: withDemandedTls({}, true) }));
    const ready = { ...identity, status: { conditions: [{ type: 'Ready', status: 'True' }] } };
    const named = strict.map((one) => ({ ...one, labels: { ...one.labels, 'kuma.io/workload': 'cart' } }));
    expect(stateOf([ready, ...named, service('cart')], both)).toEqual([]);
  });

  it('is permissive where MeshTLS says so', () => {
    const policy = row('MeshTLS', 'lax', { rules: [{ default: { mode: 'Permissive' } }] });
    expect(stateOf([...rows, policy], both)).toEqual([
      { tls: 'permissive', reason: 'MeshTLS has mode Permissive on cart-1, cart-2' },
    ]);
    const strict = row('MeshTLS', 'strict', { rules: [{ default: { mode: 'Strict' } }] });
    expect(stateOf([...rows, strict], both)).toEqual([]);
  });

  it('does not exist for a service without proxies, or with zone proxies alone', () => {
    const ingress = row(
      'Dataplane',
      'in',
      { networking: { zoneIngress: { address: '10.0.0.2', port: 10001 } } },
      {},
      { ...east, app: 'in' },
    );
    expect(meshTlsView(new MeshIndex('shop', [service('none'), service('in'), ingress]), []).services.total).toBe(0);
  });
});

it('services that take plain text are listed by name, with their zones', () => {
  const rows = [proxy('web-1', 'web'), proxy('cart-1', 'cart'), service('web'), service('cart')];
  const view = meshTlsView(new MeshIndex('shop', rows), []);
  expect(view.expectedBy).toEqual([]);
  expect(view.services).toEqual({ total: 2, strict: 0, permissive: 0, plaintext: 2 });
  expect(view.items.map(({ service: { name }, zone, kri }) => [name, zone, kri])).toEqual([
    ['cart', 'east', cartKri],
    ['web', 'east', 'kri_msvc_shop_east__web_'],
  ]);
});
