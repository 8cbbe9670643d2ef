// Dataplanes with zone sections over REST: an invalid one is refused with its fields and not stored; a valid one is stored as the
// reference says (MADR 095, D17 to D19).
import type { FastifyInstance } from 'fastify';
import { Registry } from 'prom-client';
import { afterAll, beforeEach, expect, describe, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createApi } from '../../src/api/create-api.ts';
import { createLogger } from '../../src/base/log.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { ZONE } from './zone-under-test.ts';

const URL = '/meshes/default/dataplanes/proxy';
const ingress = { address: '10.0.0.1', port: 10001, advertisedAddress: '192.0.2.1', advertisedPort: 30001 };
const egress = { address: '10.0.0.1', port: 10002 };

let store: TinyStore;
const apis: FastifyInstance[] = [];

beforeEach(async () => {
  store = new TinyStore();
  await store.write({ op: 'create', key: { type: 'Mesh', mesh: '', name: 'default' }, labels: {}, spec: {} });
});

afterAll(() => Promise.all(apis.map((api) => api.close())));

async function put(networking: unknown, more: JsonObject = {}): Promise<{ status: number; fields: string[]; text: string }> {
  const api = createApi({
    ...{ store, mode: 'zone', zone: ZONE, federated: true, product: 'Meridian', productVersion: '0', instanceId: 'i' },
    ...{
      clock: systemClock,
      clusterId: async () => 'c',
      readOnly: false,
      config: {},
      metrics: new Registry(),
      log: createLogger('silent'),
    },
    proxyAdmin: async () => new Uint8Array(),
    meshDefaults: async () => [],
  });
  apis.push(api);
  const payload = JSON.stringify({ type: 'Dataplane', mesh: 'default', name: 'proxy', networking, ...more });
  const answer = await api.inject({ method: 'PUT', url: URL, payload, headers: { 'content-type': 'application/json' } });
  const { invalid_parameters: violations = [] } = answer.json<{ invalid_parameters?: { field: string }[] }>();
  return { status: answer.statusCode, fields: violations.map(({ field }) => field), text: answer.body };
}

function stored(): JsonObject | undefined {
  return [...store.rows.values()].find(({ type }) => type === 'Dataplane')?.spec;
}

const at = (field: string): string => `networking.zoneIngress.${field}`;

describe('a Dataplane is refused, and nothing is stored', () => {
  it.each<[what: string, networking: unknown, fields: string[]]>([
    ['an empty zoneIngress', { zoneIngress: {} }, ['address', 'advertisedAddress', 'port', 'advertisedPort'].map(at)],
    ['half a zoneIngress', { zoneIngress: { address: '10.0.0.1', port: 1 } }, ['advertisedAddress', 'advertisedPort'].map(at)],
    [
      'no fallback to networking.advertisedAddress',
      {
        address: '10.0.0.1',
        advertisedAddress: '192.0.2.1',
        zoneIngress: { address: '10.0.0.1', port: 1, advertisedPort: 1 },
      },
      [at('advertisedAddress')],
    ],
    ['half a zoneEgress', { zoneEgress: { address: '10.0.0.1' } }, ['networking.zoneEgress.port']],
    ['a port in quotes', { zoneIngress: { ...ingress, port: '10001' } }, [at('port')]],
    ['an advertised port in quotes', { zoneIngress: { ...ingress, advertisedPort: '30001' } }, [at('advertisedPort')]],
    ['a port that is a word', { zoneEgress: { ...egress, port: 'egress' } }, ['networking.zoneEgress.port']],
    ['port 0', { zoneIngress: { ...ingress, port: 0 } }, [at('port')]],
    ['port 65536', { zoneIngress: { ...ingress, advertisedPort: 65_536 } }, [at('advertisedPort')]],
    ['a negative port', { zoneIngress: { ...ingress, port: -1 } }, [at('port')]],
    ['half a port', { zoneIngress: { ...ingress, port: 1.5 } }, [at('port')]],
    ['an advertised address 0.0.0.0', { zoneIngress: { ...ingress, advertisedAddress: '0.0.0.0' } }, [at('advertisedAddress')]],
    ['an advertised address ::', { zoneIngress: { ...ingress, advertisedAddress: '::' } }, [at('advertisedAddress')]],
    [':: written out', { zoneIngress: { ...ingress, advertisedAddress: '0:0:0:0:0:0:0:0' } }, [at('advertisedAddress')]],
    ['an address that is none', { zoneIngress: { ...ingress, advertisedAddress: '256.1.1.1' } }, [at('advertisedAddress')]],
    ['an address with a port', { zoneIngress: { ...ingress, advertisedAddress: 'a.b:80' } }, [at('advertisedAddress')]],
    ['a zoneIngress that is text', { zoneIngress: '10.0.0.1:10001' }, ['networking.zoneIngress']],
    ['a list of them', { zoneIngress: [ingress] }, ['networking.zoneIngress']],
    [
      'one name for both sections',
      { zoneIngress: { ...ingress, name: 'zone' }, zoneEgress: { ...egress, name: 'zone' } },
      ['networking.zoneEgress.name'],
    ],
    [
      'the name of an inbound',
      { address: '10.0.0.1', inbound: [{ port: 80, name: 'web' }], zoneIngress: { ...ingress, name: 'web' } },
      [at('name')],
    ],
    [
      'a name that is the port of the other',
      { zoneIngress: { ...ingress, name: '10002' }, zoneEgress: egress },
      ['networking.zoneEgress.name'],
    ],
    [
      'the port of an inbound, on another address but without a name',
      { address: '10.0.0.9', inbound: [{ port: 10_001 }], zoneIngress: ingress },
      [at('name')],
    ],
    [
      'the place of an inbound',
      { address: '10.0.0.1', inbound: [{ port: 10_001, name: 'web' }], zoneIngress: { ...ingress, name: 'zi' } },
      [at('port')],
    ],
    [
      'the place of a listener of Kuma',
      {
        address: '10.0.0.1',
        listeners: [{ type: 'ZoneIngress', address: '10.0.0.1', port: 10_001, name: 'kuma' }],
        zoneIngress: { ...ingress, name: 'zi' },
      },
      [at('port')],
    ],
    [
      'transparent proxying beside it',
      { zoneIngress: ingress, transparentProxying: { redirectPortInbound: 15_006, redirectPortOutbound: 15_001 } },
      ['networking.transparentProxying'],
    ],
    ['neither address nor zone section', { inbound: [{ port: 80 }] }, ['networking.address']],
  ])('%s', async (_, networking, fields) => {
    const { status, fields: found, text } = await put(networking);
    expect(status, text).toBe(400);
    expect(found.toSorted(), text).toEqual(fields.toSorted());
    expect(stored()).toBeUndefined();
  });
});

describe('a Dataplane is stored', () => {
  it.each<[what: string, networking: JsonObject]>([
    ['with both sections alone', { zoneIngress: ingress, zoneEgress: egress }],
    ['beside inbounds', { address: '10.0.0.1', inbound: [{ port: 80 }], zoneIngress: ingress }],
    [
      'with one port on two addresses and names',
      { zoneIngress: { ...ingress, name: 'zi' }, zoneEgress: { ...ingressPlace('ze') } },
    ],
    ['with a DNS name and IPv6', { zoneIngress: { ...ingress, address: 'fd00::1', advertisedAddress: 'in.east.example' } }],
    ['with listeners of Kuma', { address: '10.0.0.1', listeners: [{ type: 'ZoneEgress', address: '10.0.0.1', port: 10_002 }] }],
  ])('%s', async (_, networking) => {
    const { status, text } = await put(networking);
    expect(status, text).toBe(201);
    expect(stored()).toEqual({ networking });
  });

  it('with its fields under `spec` too, in the flat form (D18)', async () => {
    const { status, text } = await put(undefined, { spec: { networking: { zoneEgress: egress } } });
    expect(status, text).toBe(201);
    expect(stored()).toEqual({ networking: { zoneEgress: egress } });
  });

  it('without kuma.io/proxy-type, and shown with its listeners', async () => {
    const listeners = [{ type: 'ZoneEgress', address: '10.0.0.1', port: 10_002, name: 'ze' }];
    const { status } = await put({ address: '10.0.0.1', listeners }, { labels: { 'kuma.io/proxy-type': 'sidecar' } });
    expect(status).toBe(201);
    const [api] = apis.slice(-1);
    const shown = (await api?.inject(URL))?.json<{ labels: Record<string, string>; networking: JsonObject }>();
    expect(shown?.labels).toMatchObject({ 'kuma.io/listener-zoneegress': 'enabled' });
    expect(Object.keys(shown?.labels ?? {})).not.toContain('kuma.io/proxy-type');
    expect(shown?.networking['listeners']).toEqual(listeners);
  });
});

function ingressPlace(name: string): JsonObject {
  return { address: '10.0.0.2', port: 10_001, name };
}
