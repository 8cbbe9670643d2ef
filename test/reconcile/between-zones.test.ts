// The computed fields of a zone's services, on global and in the other zone (D20 to D22, D27).
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/resource/types.ts';
import { sides, type Side } from '../golden/control-planes.ts';
import { egressProxy, ingressProxy, insight, ServicesFleet } from './services-fleet.ts';

const cart = { selector: { dataplaneLabels: { matchLabels: { app: 'cart' } } }, ports: [{ port: 80 }] };

let fleet: ServicesFleet;

beforeEach(async () => {
  fleet = new ServicesFleet();
  await fleet.start();
  await fleet.put('east', 'MeshService', 'cart', cart, { 'kuma.io/origin': 'zone' });
  await fleet.rest();
});

afterEach(() => fleet.close());

/** Address of the ingress as each side has it; null where the field, or the service, is not there. */
function ingresses(): Record<Side, unknown> {
  const of = (side: Side): unknown => {
    const ingress = fleet.row(side, 'MeshService', 'cart')?.spec['zoneIngress'] as JsonObject | undefined;
    return ingress?.['address'] ?? null;
  };
  return { global: of('global'), east: of('east'), west: of('west') };
}

function everywhere(address: string | null): Record<Side, unknown> {
  return { global: address, east: address, west: address };
}

describe('spec.zoneIngress', () => {
  it('is the same everywhere when it is set, moved, taken over and removed', async () => {
    expect(ingresses()).toEqual(everywhere(null));
    await fleet.zoneProxy('east', 'zi-1', ingressProxy('192.0.2.1'));
    await fleet.rest();
    expect(ingresses()).toEqual(everywhere('192.0.2.1'));
    const ingressesFound = sides.map((side) => fleet.row(side, 'MeshService', 'cart')?.spec['zoneIngress']);
    expect(new Set(ingressesFound.map((one) => JSON.stringify(one))).size).toBe(1);
    expect(ingressesFound[0]).toMatchObject({
      port: 30_001,
      sni: expect.stringMatching(/^a[0-9a-f]{16}\.cart\.80\.default\.ms$/) as string,
    });

    await fleet.zoneProxy('east', 'zi-1', ingressProxy('192.0.2.9'));
    await fleet.rest();
    expect(ingresses()).toEqual(everywhere('192.0.2.9'));

    await fleet.zoneProxy('east', 'zi-2', ingressProxy('192.0.2.2'));
    await fleet.rest();
    expect(ingresses()).toEqual(everywhere('192.0.2.9'));
    await fleet.put('east', 'DataplaneInsight', 'zi-1', insight(false));
    await fleet.rest();
    expect(ingresses()).toEqual(everywhere('192.0.2.2'));

    await fleet.delete('east', 'Dataplane', 'zi-2');
    await fleet.rest();
    expect(ingresses()).toEqual(everywhere(null));
  });

  it('is also published as a MeshZoneAddress for Kuma peers, and withdrawn (D27)', async () => {
    await fleet.zoneProxy('east', 'zi-1', ingressProxy('192.0.2.1'));
    await fleet.rest();
    for (const side of sides)
      expect(fleet.row(side, 'MeshZoneAddress', 'zone-ingress')).toMatchObject({
        spec: { address: '192.0.2.1', port: 30_001 },
        labels: { 'kuma.io/zone': 'east' },
      });
    await fleet.delete('east', 'Dataplane', 'zi-1');
    await fleet.rest();
    for (const side of sides) expect(fleet.rows(side, 'MeshZoneAddress', 'zone-ingress')).toEqual([]);
  });

  it('of one zone does not apply to another', async () => {
    await fleet.zoneProxy('west', 'zi-1', ingressProxy('198.51.100.1'));
    await fleet.rest();
    expect(ingresses()).toEqual(everywhere(null));
  });
});

describe('status.zoneEgress', () => {
  it('exists only in the zone with the egress, and is never synced (D22)', async () => {
    const spec = { match: { type: 'HostnameGenerator', port: 443, protocol: 'tcp' }, endpoints: [{ address: 'api.example' }] };
    await fleet.put('global', 'MeshExternalService', 'api', spec);
    await fleet.zoneProxy('east', 'ze', egressProxy('10.1.0.2'));
    await fleet.put('east', 'MeshExternalService', 'own', spec, { 'kuma.io/origin': 'zone' });
    await fleet.rest();
    const egress = (side: Side, name: string): unknown => fleet.row(side, 'MeshExternalService', name)?.status['zoneEgress'];
    const expected = { address: '10.1.0.2', port: 10_002, sni: expect.stringMatching(/\.api\.443\.default\.mes$/) as string };
    expect(egress('east', 'api')).toEqual(expected);
    expect(egress('east', 'own')).toBeDefined();
    for (const name of ['api', 'own']) for (const side of ['global', 'west'] as const) expect(egress(side, name)).toBeUndefined();
    expect(fleet.row('global', 'MeshExternalService', 'own')).toBeDefined();
  });
});

describe('a copy in another zone', () => {
  it('keeps the status that this zone gave it when an update arrives from global', async () => {
    const before = fleet.row('west', 'MeshService', 'cart');
    expect(before?.status).toMatchObject({ vips: [{ ip: '241.0.0.0' }] });
    expect(before?.status['tls']).toBeUndefined();
    await fleet.put('east', 'MeshService', 'cart', { ...cart, ports: [{ port: 81 }] }, { 'kuma.io/origin': 'zone', team: 'a' });
    await fleet.rest();
    const after = fleet.row('west', 'MeshService', 'cart');
    expect(after?.spec['ports']).toEqual([{ port: 81, appProtocol: 'tcp' }]);
    expect(after?.status).toEqual(before?.status);
    expect(fleet.row('global', 'MeshService', 'cart')?.status).toMatchObject({ tls: { status: 'NotReady' } });
  });

  it('is removed when its zone is disabled, and returns with it', async () => {
    await fleet.put('global', 'Zone', 'east', { enabled: false });
    await fleet.rest();
    expect(fleet.rows('west', 'MeshService', 'cart')).toEqual([]);
    expect(fleet.rows('east', 'MeshService', 'cart')).toHaveLength(1);
    await fleet.put('global', 'Zone', 'east', { enabled: true });
    await fleet.rest();
    expect(fleet.rows('west', 'MeshService', 'cart')).toHaveLength(1);
  });

  it('stays unwritten at a reconnect when it has not changed', async () => {
    await fleet.zoneProxy('east', 'zi-1', ingressProxy('192.0.2.1'));
    await fleet.rest();
    const rows = (): unknown[] => sides.map((side) => [...fleet.planes.stores[side].rows.values()]);
    const before = rows();
    await fleet.planes.reconnect();
    await fleet.rest();
    expect(rows()).toEqual(before);
  });
});

describe('an ingress that flaps every 100 ms for a minute', () => {
  it('stays published', async () => {
    await fleet.zoneProxy('east', 'zi-1', ingressProxy('192.0.2.1'));
    await fleet.rest();
    const before = fleet.planes.received('west');
    for (let flap = 0; flap < 600; flap += 1) {
      await fleet.put('east', 'DataplaneInsight', 'zi-1', insight(flap % 2 === 1));
      await fleet.advance(100);
    }
    await fleet.rest();
    expect(fleet.planes.received('west') - before).toBe(0);
    expect(ingresses()).toEqual(everywhere('192.0.2.1'));
  });

  it('or moves every 100 ms is published every five seconds', async () => {
    await fleet.zoneProxy('east', 'zi-1', ingressProxy('192.0.2.1'));
    await fleet.rest();
    const before = fleet.planes.received('west');
    for (let move = 0; move < 600; move += 1) {
      await fleet.put('east', 'Dataplane', 'zi-1', ingressProxy(`192.0.2.${String(move % 200)}`));
      await fleet.advance(100);
    }
    const received = fleet.planes.received('west') - before;
    expect(received).toBeLessThanOrEqual(2 * (60 / 5 + 1));
    expect(received).toBeGreaterThan(2 * (60 / 5 - 2));
    await fleet.rest();
    expect(ingresses()).toEqual(everywhere('192.0.2.199'));
  });

  it('and then stops is withdrawn', async () => {
    await fleet.zoneProxy('east', 'zi-1', ingressProxy('192.0.2.1'));
    for (let flap = 0; flap < 50; flap += 1) {
      await fleet.put('east', 'DataplaneInsight', 'zi-1', insight(flap % 2 === 0));
      await fleet.advance(100);
    }
    await fleet.advance(10_000);
    await fleet.rest();
    expect(ingresses()).toEqual(everywhere(null));
  });
});

describe('one change of one Dataplane', () => {
  it('reads and writes only the affected rows, among any number of others', async () => {
    const { stores } = fleet.planes;
    for (let index = 0; index < 300; index += 1)
      await fleet.put('east', 'Dataplane', `proxy-${String(index)}`, proxyOf(), {
        'kuma.io/workload': `s-${String(index % 100)}`,
      });
    await fleet.rest();
    expect(fleet.rows('east', 'MeshService', 's-7')[0]?.status).toMatchObject({ dataplaneProxies: { healthy: 3 } });
    const asked: string[] = [];
    const { east } = stores;
    const [getMany, list, writeBatch] = [east.getMany.bind(east), east.list.bind(east), east.writeBatch.bind(east)];
    east.getMany = async (keys) => {
      asked.push(...keys.map(({ type, name }) => `read ${type} ${name}`));
      return await getMany(keys);
    };
    east.list = async (query) => {
      asked.push(`list ${query.type}`);
      return await list(query);
    };
    east.writeBatch = async (writes) => {
      asked.push(...writes.map(({ op, key }) => `${op} ${key.type} ${key.name}`));
      return await writeBatch(writes);
    };
    await fleet.put('east', 'Dataplane', 'proxy-7', proxyOf('NotReady'), { 'kuma.io/workload': 's-7' });
    await fleet.advance(1_000);
    // The changelog of the zone reads the same keys for global.
    expect(new Set(asked)).toEqual(new Set(['read Dataplane proxy-7', 'update MeshService s-7', 'read MeshService s-7']));
  });
});

function proxyOf(state?: string): JsonObject {
  return { networking: { address: '10.0.0.1', inbound: [{ port: 80, ...(state !== undefined && { state }) }] } };
}
