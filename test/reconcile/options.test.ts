// The configuration of a zone's services: address networks, the generator, its grace period (rest-api 7).
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/base/config.ts';
import { planServices } from '../../src/reconcile/services/plan-services.ts';
import { ServicesView } from '../../src/reconcile/services/services-view.ts';
import { virtualAddress } from '../../src/resource/virtual-address.ts';
import { VipPool } from '../../src/reconcile/services/vip-pool.ts';
import { makeRow } from '../support/make-row.ts';

describe('the configuration', () => {
  it('has the keys and defaults of Kuma', () => {
    const { meshService, ipam } = loadConfig({ mode: 'zone' }).config;
    expect(meshService).toEqual({ generationInterval: 2_000, deletionGracePeriod: 3_600_000 });
    expect(Object.values(ipam).map(({ cidr }) => cidr)).toEqual(['241.0.0.0/8', '242.0.0.0/8', '243.0.0.0/8']);
  });

  it.each(['241.0.0.0', '241.0.0/8', '256.0.0.0/8', '10.0.0.0/33', 'fd00::/8', '10.0.0.0/'])('refuses the network %s', (cidr) => {
    const load = (): unknown => loadConfig({ mode: 'zone', env: { MERIDIAN_IPAM_MESH_SERVICE_CIDR: cidr } });
    expect(load).toThrow('ipam.meshService.cidr: must be an IPv4 network such as "241.0.0.0/8"');
  });
});

describe('addresses of a small network', () => {
  it('are given from the first on, reused only after all others, and run out', () => {
    const pool = new VipPool('10.9.8.7/30');
    expect(['a', 'b'].map((id) => pool.take(id))).toEqual(['10.9.8.4', '10.9.8.5']);
    pool.release('a');
    expect(['c', 'd', 'e'].map((id) => pool.take(id))).toEqual(['10.9.8.6', '10.9.8.7', '10.9.8.4']);
    expect(pool.take('f')).toBeNull();
  });

  it('run out for one service without a change of the others', () => {
    const networks = { MeshService: '10.0.0.0/30', MeshExternalService: '10.1.0.0/30', MeshMultiZoneService: '10.2.0.0/30' };
    const view = new ServicesView('east', networks);
    view.put(makeRow('Mesh', 'default'));
    for (const name of ['a', 'b', 'c', 'd', 'e']) view.put(makeRow('MeshService', name, { spec: { ports: [{ port: 80 }] } }));
    const { writes, withoutVip } = planServices(view, { now: new Date(), elapsed: 0, graceMs: null });
    const rows = writes.flatMap((write) => (write.op === 'put' ? [write.row] : []));
    expect(rows.map(virtualAddress)).toEqual(['10.0.0.0', '10.0.0.1', '10.0.0.2', '10.0.0.3', '']);
    expect(rows.at(-1)?.status).not.toHaveProperty('vips');
    expect(withoutVip).toBe(1);
  });
});

describe('the generator', () => {
  const workload = { 'kuma.io/workload': 'cart' };
  const networking = { address: '10.0.0.1', inbound: [{ port: 80 }] };

  it('creates nothing when it is disabled', () => {
    const view = new ServicesView('east');
    view.put(makeRow('Mesh', 'default'));
    view.put(makeRow('Dataplane', 'cart-1', { spec: { networking }, labels: workload }));
    expect(planServices(view, { now: new Date(), elapsed: 0, graceMs: null }).writes).toEqual([]);
  });

  it('keeps a service without proxies for the configured time', () => {
    const now = new Date('2026-01-01T00:00:00Z');
    const view = new ServicesView('east');
    view.put(makeRow('Mesh', 'default'));
    const labels = { 'kuma.io/managed-by': 'meshservice-generator', 'kuma.io/origin': 'zone' };
    view.put(makeRow('MeshService', 'cart', { spec: { ports: [] }, labels }));
    const { waitMs } = planServices(view, { now, elapsed: 0, graceMs: 300_000 });
    expect(waitMs).toBe(300_000);
  });
});
