// The problems of proxies and services from their rows, without a control plane: what is listed, what is counted, and what is none.
import { beforeEach, describe, expect, it } from 'vitest';
import { admissionProblems } from '../../src/problems/admission-problems.ts';
import { proxyProblemsOfZone } from '../../src/problems/proxy-problems.ts';
import { serviceProblems } from '../../src/problems/service-problems.ts';
import { zoneProxyProblems } from '../../src/problems/zone-proxy-problems.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { ProxyInsights } from '../../src/zone-status/proxy-insights.ts';
import { makeRow } from '../support/make-row.ts';
import { TinyStore } from '../support/tiny-store.ts';

const mesh = 'shop';
const connectTime = '2026-01-01T00:00:00Z';
let store: TinyStore;
beforeEach(() => (store = new TinyStore()));

async function write(
  type: string,
  name: string,
  more: { labels?: Record<string, string>; spec?: JsonObject; status?: JsonObject },
) {
  await store.write({ op: 'put', key: { type, mesh, name }, labels: {}, spec: {}, ...more });
}

describe('what proxies say', () => {
  const refused = {
    kind: 'refused',
    at: 'Cluster extra',
    reason: 'no timeout',
    policies: ['kri_mpp_shop_east__bad_'],
    time: connectTime,
  };
  const token = { kind: 'leftOut', at: 'token', reason: 'the token is for workload web. Get one with …', policies: [] };

  it('is one problem for all proxies with the same reason', async () => {
    for (const name of ['cart-1', 'cart-2']) await write('DataplaneInsight', name, { status: { proxyProblems: [refused] } });
    await write('DataplaneInsight', 'web', { status: { proxyProblems: [token] } });
    await write('DataplaneInsight', 'well', { status: {} });
    expect(await proxyProblemsOfZone(new ProxyInsights({ store, kept: 'all' }), 'east')).toMatchObject([
      {
        ...{ code: 'proxyRefuses', zone: 'east', mesh, resources: ['cart-1', 'cart-2'], count: 2, since: connectTime },
        message:
          'the Envoy of Dataplane cart-1 and 1 more of mesh shop refuses Cluster extra: no timeout (kri_mpp_shop_east__bad_)',
      },
      { code: 'tokenLacksRight', resources: ['web'], message: `Dataplane web of mesh shop: ${token.reason}` },
    ]);
  });
});

describe('a proxy that is not let in', () => {
  const since = new Date(connectTime);
  const refused = (name: string, isKnown = false) => ({ mesh, name, reason: 'its token was revoked', isKnown, count: 3, since });

  it('is a problem if its Dataplane exists or its token is good; others are counted', async () => {
    await write('Dataplane', 'cart', {});
    const all = [refused('cart'), refused('web', true), refused('made up'), refused('made up too')];
    expect(await admissionProblems(all, { store, zone: 'east', instanceId: 'cp-1' })).toMatchObject([
      { code: 'proxyNotAdmitted', count: 2, message: expect.stringContaining('2 callers without a good token') as string },
      { resources: ['cart'], count: 3, message: 'the proxy of Dataplane cart of mesh shop is not let in: its token was revoked' },
      { resources: ['web'] },
    ]);
  });
});

describe('a service', () => {
  const service = (name: string, zone: string, dataplaneProxies: JsonObject) =>
    makeRow('MeshService', name, {
      mesh,
      labels: { 'kuma.io/zone': zone, 'kuma.io/origin': 'zone' },
      status: { dataplaneProxies },
    });
  const rows = [
    service('offline', 'east', { total: 2, healthy: 2 }),
    service('unready', 'east', { total: 1, connected: 1 }),
    service('well', 'east', { total: 2, connected: 1, healthy: 2 }),
    service('empty', 'east', {}),
    service('elsewhere', 'west', { total: 1 }),
  ];

  it('is a problem if it has proxies and none serves, on global that of every zone', () => {
    const [east, west] = serviceProblems(rows, null);
    expect(east?.message).toBe(
      'no server of offline (each of its 2 proxies is not connected), unready (its proxy has no ready inbound for its ports) serves, ' +
        'in mesh shop and zone east',
    );
    expect(west).toMatchObject({ zone: 'west', resources: ['elsewhere'] });
    expect(serviceProblems(rows, 'east')).toEqual([east]);
  });
});

describe('an ingress or egress', () => {
  const subscription = (more: JsonObject) => ({ subscriptions: [{ id: '1', connectTime, ...more }] });

  it('is a problem when its proxy was connected and is not', async () => {
    const labels = { 'kuma.io/listener-zoneingress': 'enabled', 'kuma.io/zone': 'east' };
    for (const name of ['gone', 'here', 'new', 'plain'])
      await write('Dataplane', name, { labels: name === 'plain' ? {} : labels });
    await write('DataplaneInsight', 'gone', { spec: subscription({ disconnectTime: '2026-01-02T00:00:00Z' }) });
    await write('DataplaneInsight', 'plain', { spec: subscription({ disconnectTime: '2026-01-02T00:00:00Z' }) });
    await write('DataplaneInsight', 'here', { spec: subscription({}) });
    const insights = new ProxyInsights({ store, kept: 'all' });
    expect(await zoneProxyProblems({ store, insights, zone: 'east' })).toMatchObject([
      { code: 'zoneProxyAway', zone: 'east', resources: ['gone'], since: '2026-01-02T00:00:00Z' },
    ]);
  });
});
