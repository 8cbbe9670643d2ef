import { beforeEach, describe, expect, it } from 'vitest';
import { fc } from '../../../test/support/property.ts';
import { makeRow } from '../../../test/support/make-row.ts';
import type { JsonObject, Resource } from '../../resource/types.ts';
import { inForceSpec, type IdentityInForce } from '../../resource/identity-in-force.ts';
import { AcceptedTls, type TlsFacts } from './accepted-tls.ts';
import { planServices } from './plan-services.ts';
import { ServicesView } from './services-view.ts';

const CART = 'kri_msvc_default_east__cart_';
const labels = (app: string) => ({ app, 'kuma.io/workload': app, 'kuma.io/origin': 'zone', 'kuma.io/zone': 'east' });

describe('TLS of a MeshService', () => {
  let view: ServicesView;
  let rows: Map<string, Resource>;

  const put = (row: Resource): void => {
    rows.set(`${row.type} ${row.name}`, row);
    view.put(row);
  };
  const plan = (time = 0): unknown => {
    for (let pass = 0; pass < 4; pass += 1)
      for (const write of planServices(view, { now: new Date(time), elapsed: time, graceMs: null }).writes) {
        if (write.op !== 'put') continue;
        rows.set(`${write.row.type} ${write.row.name}`, write.row);
        view.accept(write.row);
        view.put(write.row);
      }
    return rows.get('MeshService cart')?.status['tls'];
  };
  const dataplane = (name: string, app: string): void =>
    put(
      makeRow('Dataplane', name, {
        labels: labels(app),
        spec: { networking: { address: '127.0.0.1', inbound: [{ port: 80 }] } },
      }),
    );
  const insight = (name: string, tls: JsonObject | null): void =>
    put(
      makeRow('DataplaneInsight', name, {
        spec: { subscriptions: [{ connectTime: '2026-01-01T00:00:00Z' }] },
        status: tls === null ? {} : { tls },
      }),
    );
  const identity = (): void =>
    put(
      makeRow('MeshIdentity', 'identity', {
        spec: { selector: { dataplane: { matchLabels: {} } } },
        status: { conditions: [{ type: 'Ready', status: 'True' }] },
      }),
    );

  beforeEach(() => {
    view = new ServicesView('east');
    rows = new Map();
    put(makeRow('Mesh', 'default'));
    const spec = { selector: { dataplaneLabels: { matchLabels: { app: 'cart' } } }, ports: [{ port: 80, targetPort: 80 }] };
    put(makeRow('MeshService', 'cart', { labels: labels('cart'), spec }));
    dataplane('cart-1', 'cart');
    dataplane('cart-2', 'cart');
    dataplane('checkout', 'checkout');
    insight('cart-1', null);
    insight('cart-2', null);
    insight('checkout', null);
    identity();
  });

  it('begins when all its proxies accept it, and is demanded when no proxy calls it in plain text', () => {
    insight('checkout', { isReady: true, plaintextTo: [CART] });
    insight('cart-1', { isReady: true, plaintextTo: [] });
    insight('cart-2', { isReady: false, plaintextTo: [] });
    expect(plan()).toEqual({ status: 'NotReady' });
    insight('cart-2', { isReady: true, plaintextTo: [] });
    expect(plan()).toEqual({ status: 'Ready' });
    insight('checkout', { isReady: true, plaintextTo: [] });
    expect(plan()).toEqual({ status: 'Ready', enforced: true });
  });

  it.each<JsonObject>([{ hold: 'held' }, { isLost: true }])(
    'is not demanded for a minute after a caller in plain text has lost its control plane: %j',
    (said) => {
      const lost = (plaintextTo: string[]): Resource =>
        makeRow('DataplaneInsight', 'checkout', {
          spec: { subscriptions: [{ connectTime: '2026-01-01T00:00:00Z', disconnectTime: '2026-01-01T00:01:00Z' }] },
          status: { ...said, tls: { isReady: true, plaintextTo } },
        });
      put(lost([CART]));
      for (const name of ['cart-1', 'cart-2']) insight(name, { isReady: true, plaintextTo: [] });
      expect(plan()).toEqual({ status: 'Ready' });
      expect(plan(59_000)).toEqual({ status: 'Ready' });
      expect(plan(60_000)).toEqual({ status: 'Ready', enforced: true });
    },
  );

  it('is demanded when the stream of the last caller in plain text has broken', () => {
    insight('checkout', { isReady: true, plaintextTo: [CART] });
    for (const name of ['cart-1', 'cart-2']) insight(name, { isReady: true, plaintextTo: [] });
    expect(plan()).toEqual({ status: 'Ready' });
    const [stream] = [{ connectTime: '2026-01-01T00:00:00Z', disconnectTime: '2026-01-01T00:01:00Z' }];
    const status = { tls: { isReady: true, plaintextTo: [CART] } };
    put(makeRow('DataplaneInsight', 'checkout', { spec: { subscriptions: [stream] }, status }));
    expect(plan()).toEqual({ status: 'Ready', enforced: true });
  });

  it('is not demanded while a proxy calls it in plain text whose Dataplane came after its insight', () => {
    insight('late', { isReady: true, plaintextTo: [CART] });
    dataplane('late', 'late');
    for (const name of ['cart-1', 'cart-2', 'checkout']) insight(name, { isReady: true, plaintextTo: [] });
    expect(plan()).toEqual({ status: 'Ready' });
    view.remove({ type: 'Dataplane', mesh: 'default', name: 'late' });
    expect(plan()).toEqual({ status: 'Ready', enforced: true });
  });

  it('is not demanded while a proxy has not answered', () => {
    for (const name of ['cart-1', 'cart-2']) insight(name, { isReady: true, plaintextTo: [] });
    expect(plan()).toEqual({ status: 'Ready' });
    put(makeRow('DataplaneInsight', 'checkout', { spec: { subscriptions: [] } }));
    expect(plan()).toEqual({ status: 'Ready', enforced: true });
  });

  it('stays when a proxy of the service comes, and goes with the identity', () => {
    for (const name of ['cart-1', 'cart-2', 'checkout']) insight(name, { isReady: true, plaintextTo: [] });
    expect(plan()).toEqual({ status: 'Ready', enforced: true });
    dataplane('cart-3', 'cart');
    insight('cart-3', null);
    expect(plan()).toEqual({ status: 'Ready', enforced: true });
    view.remove({ type: 'MeshIdentity', mesh: 'default', name: 'identity' });
    expect(plan()).toEqual({ status: 'NotReady' });
  });

  it('is published to other zones when all servers accept it', () => {
    const published = (): unknown => rows.get('MeshService cart')?.spec['identities'];
    insight('cart-1', { isReady: true, plaintextTo: [] });
    plan();
    expect(published()).toBeUndefined();
    insight('cart-2', { isReady: true, plaintextTo: [] });
    plan();
    expect(published()).toEqual([{ type: 'SpiffeID', value: 'spiffe://default.east.mesh.local/workload/cart' }]);
  });

  const HELD = { identity: { labels: {}, spec: { selector: { dataplane: { matchLabels: {} } } } }, since: '', until: '' };
  const inForce = (step: IdentityInForce['step'], services: string[] = []): void =>
    put(makeRow('Secret', 'identity-in-force', { labels: {}, spec: inForceSpec({ ...HELD, step, services }) }));

  it('goes in steps while the identity is withdrawn: servers first, then clients, also those of other zones', () => {
    for (const name of ['cart-1', 'cart-2', 'checkout']) insight(name, { isReady: true, plaintextTo: [] });
    inForce('held');
    plan();
    view.remove({ type: 'MeshIdentity', mesh: 'default', name: 'identity' });
    expect(plan()).toEqual({ status: 'Ready', enforced: true });
    inForce('open', [CART]);
    expect(plan()).toEqual({ status: 'Ready' });
    expect(rows.get('MeshService cart')?.spec['identities']).toBeDefined();
    inForce('clients', [CART]);
    expect(plan()).toEqual({ status: 'NotReady' });
    expect(rows.get('MeshService cart')?.spec['identities']).toBeUndefined();
    // The servers have not said yet that they have no certificate.
    inForce('trust');
    expect(plan()).toEqual({ status: 'NotReady' });
    identity();
    expect(plan()).toEqual({ status: 'Ready', enforced: true });
  });

  it('does not begin with a server that has lost the identity, and has not said so yet', () => {
    for (const name of ['cart-1', 'cart-2', 'checkout']) insight(name, { isReady: true, plaintextTo: [] });
    put(
      makeRow('MeshIdentity', 'identity', {
        spec: { selector: { dataplane: { matchLabels: { one: 'server' } } } },
        status: { conditions: [{ type: 'Ready', status: 'True' }] },
      }),
    );
    put(
      makeRow('Dataplane', 'cart-1', {
        labels: { ...labels('cart'), one: 'server' },
        spec: { networking: { address: '127.0.0.1', inbound: [{ port: 80 }] } },
      }),
    );
    expect(plan()).toEqual({ status: 'NotReady' });
  });
});

it('what proxies have accepted depends on the last facts of each alone', () => {
  const facts = fc.option(fc.record({ isReady: fc.boolean(), plaintextTo: fc.subarray(['x', 'y', 'z']) }), { nil: null });
  const step = fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.boolean(), facts);
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
      const followed = new AcceptedTls();
      const last = new Map<string, [boolean, TlsFacts | null]>();
      for (const [name, isCaller, given] of steps) {
        followed.put(name, isCaller, given);
        last.set(name, [isCaller, given]);
      }
      for (const kri of ['x', 'y', 'z']) {
        const isCalled = [...last.values()].some(
          ([isCaller, given]) => isCaller && (given === null || given.plaintextTo.includes(kri)),
        );
        expect(followed.isCalledInPlaintext(kri)).toBe(isCalled);
      }
    }),
  );
});
