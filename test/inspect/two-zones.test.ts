// Inspect in a multizone mesh (MADR 029: «make sure Inspect API works in Multizone»): what global answers about a proxy is word
// for word what the proxy's zone answers, although every name is another in its store.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { displayNameOf } from '../../src/resource/labels.ts';
import type { Resource } from '../../src/resource/types.ts';
import { typeOf } from '../../src/resource/type-registry.ts';
import { ControlPlanes, zones, type Side, type Zone } from '../golden/control-planes.ts';

type Body = { readonly type: string; readonly name: string; readonly labels?: Record<string, string> } & Record<string, unknown>;

const ORIGIN = { 'kuma.io/origin': 'zone' };
const SHOP = { ...ORIGIN, 'k8s.kuma.io/namespace': 'shop' };
const WEB = { ...ORIGIN, 'k8s.kuma.io/namespace': 'web' };
const EXTERNAL = {
  match: { type: 'HostnameGenerator', port: 443, protocol: 'tcp' },
  endpoints: [{ address: 'card.example', port: 443 }],
};
const planes = new ControlPlanes({ resume: true });

beforeAll(async () => {
  await planes.start();
  await apply('global', { type: 'Mesh', name: 'default' });
  await planes.rest();
  await apply('east', service('cart', SHOP), dataplane('cart-1', SHOP, 'cart'), dataplane('web-1', WEB, 'web'));
  await apply('west', service('pay', SHOP), dataplane('pay-1', SHOP, 'pay'), dataplane('web-1', WEB, 'web'));
  await apply('global', timeout('everywhere', { kind: 'Mesh' }, { http: { requestTimeout: '15s' } }), multiZone('both'));
  await apply('global', timeout('at-home', { kind: 'Mesh' }, { idleTimeout: '1s' }, { 'kuma.io/kds-sync': 'disabled' }));
  await apply('west', { type: 'MeshExternalService', name: 'card', labels: ORIGIN, spec: EXTERNAL });
  await apply('global', timeout('nowhere', { kind: 'MeshService', name: 'gone' }, { idleTimeout: '1h' }));
  await apply(
    'east',
    route('slow', 'cart', SHOP),
    timeout('producer', { kind: 'MeshHTTPRoute', name: 'slow' }, { http: { requestTimeout: '30s' } }, SHOP),
    timeout(
      'consumer',
      { kind: 'MeshHTTPRoute', labels: { 'kuma.io/display-name': 'slow' } },
      { http: { streamIdleTimeout: '9s' } },
      WEB,
    ),
    { type: 'MeshTimeout', name: 'inbound', labels: ORIGIN, spec: { rules: [{ default: { idleTimeout: '7s' } }] } },
  );
  await planes.rest();
  expect(planes.refusals).toEqual([]);
});

afterAll(async () => planes.close());

describe.each([
  ['east', 'web-1.web'],
  ['east', 'cart-1.shop'],
  ['west', 'web-1.web'],
  ['west', 'pay-1.shop'],
] as const)('the proxy %s/%s', (zone, name) => {
  const cart = 'kri_msvc_default_east_shop_cart_';
  const slow = 'kri_mhttpr_default_east_shop_slow_';
  it.each([
    '_rules',
    '_policies',
    '_layout',
    '_effective',
    `_outbounds/${cart}/_policies`,
    `_outbounds/${cart}80/_policies`,
    `_outbounds/${cart}80/_routes`,
    `_outbounds/${cart}80/_routes/${slow}/_policies`,
    `_outbounds/kri_mzsvc_default___both_80/_policies`,
    `_inbounds/kri_dp_default_${zone}_${name.split('.')[1] ?? ''}_${name.split('.')[0] ?? ''}_http/_policies`,
  ])('%s says the same on global and in its zone', async (question) => {
    const here = await planes.ask(zone, `/meshes/default/dataplanes/${name}/${question}`);
    const there = await planes.ask('global', `/meshes/default/dataplanes/${storedOnGlobal('Dataplane', zone, name)}/${question}`);
    expect(here.status).toBe(200);
    expect(there).toEqual(here);
    expect(wireNames().filter((hashed) => JSON.stringify(here.body).includes(hashed))).toEqual([]);
  });
});

describe('what the answers hold', () => {
  const at = `/meshes/default/dataplanes/web-1.web`;
  const question = '_outbounds/kri_msvc_default_east_shop_cart_80/_routes/kri_mhttpr_default_east_shop_slow_/_policies';

  it('a consumer adds to what the producer set, in its own zone and namespace alone', async () => {
    const origin = (name: string): object => ({ kri: name });
    expect((await planes.ask('east', `${at}/${question}`)).body).toEqual({
      policies: [
        {
          kind: 'MeshTimeout',
          conf: [{ http: { requestTimeout: '30s', streamIdleTimeout: '9s' } }],
          origins: [
            origin('kri_mt_default___everywhere_'),
            origin('kri_mt_default_east_shop_producer_'),
            origin('kri_mt_default_east_web_consumer_'),
          ],
        },
      ],
    });
    expect((await planes.ask('west', `${at}/${question}`)).body).toMatchObject({
      policies: [{ conf: [{ http: { requestTimeout: '30s' } }] }],
    });
  });

  it('what a zone does not have is not told its proxies on global either', async () => {
    const card = '_outbounds/kri_extsvc_default_west__card_443/_policies';
    const east = `/meshes/default/dataplanes/${storedOnGlobal('Dataplane', 'east', 'web-1.web')}`;
    const west = `/meshes/default/dataplanes/${storedOnGlobal('Dataplane', 'west', 'web-1.web')}`;
    expect((await planes.ask('global', `${east}/${card}`)).status).toBe(404);
    expect((await planes.ask('east', `${at}/${card}`)).status).toBe(404);
    expect(await planes.ask('global', `${west}/${card}`)).toEqual(await planes.ask('west', `${at}/${card}`));
    expect((await planes.ask('global', '/meshes/default/meshtimeouts/at-home/_reach')).body).toMatchObject({
      total: 0,
      untouched: [{ reason: 'stays where it was written (label kuma.io/kds-sync is disabled)', proxies: 4 }],
    });
  });

  it('a reference to nothing is kept, warned of, and does nothing', async () => {
    const { body } = await planes.ask('east', `${at}/_rules`);
    const { rules } = body as { rules: { type: string; warnings: string[] }[] };
    expect(rules.find(({ type }) => type === 'MeshTimeout')?.warnings).toEqual([
      'MeshTimeout nowhere: spec.to[0].targetRef: MeshService gone does not exist',
    ]);
  });

  it('the proxies of policies and services, by display name, with paging', async () => {
    const named = async (side: Side, url: string): Promise<unknown> => {
      const { body } = await planes.ask(side, url);
      const { items, ...page } = body as { items: { name: string; labels: Record<string, string> }[] };
      return { ...page, items: items.map(({ name, labels }) => `${labels['kuma.io/zone'] ?? ''}/${name}`) };
    };
    const everywhere = '/meshes/default/meshtimeouts/everywhere/_resources/dataplanes';
    expect(await named('global', everywhere)).toEqual({
      total: 4,
      items: ['east/cart-1', 'west/pay-1', 'east/web-1', 'west/web-1'],
    });
    expect(await named('global', `${everywhere}?name=web&size=1`)).toMatchObject({
      total: 2,
      items: ['east/web-1'],
      next: expect.stringContaining('offset=1') as string,
    });
    expect(await named('east', '/meshes/default/meshservices/cart.shop/_dataplanes')).toEqual({
      total: 1,
      items: ['east/cart-1'],
    });
    expect(await named('global', '/meshes/default/meshmultizoneservices/both/_dataplanes')).toEqual({
      total: 2,
      items: ['east/cart-1', 'west/pay-1'],
    });
    const consumer = `/meshes/default/meshtimeouts/${storedOnGlobal('MeshTimeout', 'east', 'consumer.web')}`;
    expect(await named('global', `${consumer}/_resources/dataplanes`)).toEqual({ total: 1, items: ['east/web-1'] });
  });

  it('in the deprecated form that kumactl asks', async () => {
    const { body } = await planes.ask('east', '/meshes/default/meshtimeouts/producer.shop/dataplanes');
    expect(body).toMatchObject({
      total: 2,
      items: [
        {
          kind: 'SidecarDataplane',
          dataplane: { mesh: 'default', name: 'cart-1' },
          attachments: [{ type: 'outbound', name: 'kri_mhttpr_default_east_shop_slow_' }],
        },
        { dataplane: { name: 'web-1' } },
      ],
    });
  });

  it('why a policy touches no proxy', async () => {
    const { body } = await planes.ask('global', '/meshes/default/meshtimeouts/nowhere/_reach');
    expect(body).toMatchObject({
      total: 0,
      touched: [],
      warnings: ['spec.to[0].targetRef: MeshService gone does not exist'],
      untouched: [{ reason: 'matches, but nothing that its to[] is about exists', proxies: 4 }],
    });
  });

  it.each([
    ['/meshes/none/dataplanes/web-1.web/_rules', 404],
    ['/meshes/default/dataplanes/none/_rules', 404],
    [`${at}/_outbounds/nonsense/_policies`, 400],
    [`${at}/_outbounds/kri_msvc_other_east_shop_cart_80/_policies`, 400],
    [`${at}/_outbounds/kri_msvc_default_east_shop_gone_80/_policies`, 404],
    [`${at}/_outbounds/kri_msvc_default_east_shop_cart_81/_policies`, 404],
    [`${at}/_inbounds/kri_dp_default_east_web_web-1_none/_policies`, 404],
    [`${at}/_outbounds/kri_msvc_default_east_shop_cart_80/_routes/kri_mhttpr_default___none_/_policies`, 404],
    ['/meshes/default/meshtimeouts/none/_resources/dataplanes', 404],
    ['/meshes/default/meshtimeouts/none/_reach', 404],
    ['/meshes/default/meshtimeouts/none/_sync', 404],
    ['/meshes/default/meshservices/none/_dataplanes', 404],
    ['/meshes/default/meshtimeouts/inbound/_resources/dataplanes?size=0', 400],
  ])('%s is answered by %d', async (url, status) => {
    expect(await planes.ask('east', url)).toMatchObject({ status, body: { type: '/std-errors', status } });
  });
});

describe('explaining sync', () => {
  it('names each zone, the name there, and the rule', async () => {
    const { body } = await planes.ask('global', '/meshes/default/meshtimeouts/everywhere/_sync');
    expect(body).toMatchObject({
      from: 'global',
      targets: zones.map((to) => ({ to, isSent: true, reason: 'written on global', section: 'kds-wire 5.2.4' })),
    });
    const sent = (body as { targets: { name: string }[] }).targets.map(({ name }) => name);
    for (const [at, zone] of zones.entries())
      expect(planes.stores[zone].rows.has(idOf('MeshTimeout', sent[at] ?? ''))).toBe(true);
  });

  it.each<[name: string, west: boolean, reason: RegExp]>([
    ['producer.shop', true, /only producer policies cross zones/],
    ['consumer.web', false, /only producer policies cross zones/],
    ['inbound', false, /only producer policies cross zones/],
  ])('%s goes to the other zone: %s', async (name, isSent, reason) => {
    const stored = storedOnGlobal('MeshTimeout', 'east', name);
    const { body } = await planes.ask('global', `/meshes/default/meshtimeouts/${stored}/_sync`);
    const expectedRole = { 'producer.shop': 'producer', 'consumer.web': 'consumer' }[name] ?? 'system';
    expect(body).toMatchObject({ role: { label: expectedRole, computed: expectedRole } });
    const { targets } = body as { targets: { to: string; isSent: boolean; name: string | null; reason: string }[] };
    const [east, west] = targets;
    expect(east).toMatchObject({ to: 'east', isSent: false, name: null });
    expect(west).toMatchObject({ to: 'west', isSent });
    expect(west?.reason).toMatch(reason);
    expect([...planes.stores.west.rows.values()].some((row) => displayNameOf(row) === name.split('.')[0])).toBe(isSent);
    const { body: inEast } = await planes.ask('east', `/meshes/default/meshtimeouts/${name}/_sync`);
    expect(inEast).toMatchObject({
      from: 'east',
      targets: [
        { to: 'global', isSent: true, name: stored },
        { to: 'other zones', isSent, name: west?.name ?? null },
      ],
    });
  });

  it('says of a global type, of a copy and of what never travels what holds for it', async () => {
    expect((await planes.ask('global', '/zones/east/_sync')).body).toMatchObject({
      targets: [{ isSent: false, section: 'kds-wire 3' }, { isSent: false }],
    });
    const copy = [...planes.stores.west.rows.values()].find((row) => displayNameOf(row) === 'everywhere')?.name ?? '';
    expect((await planes.ask('west', `/meshes/default/meshtimeouts/${copy}/_sync`)).body).toMatchObject({
      targets: [{ to: 'global', isSent: false, reason: 'comes from another control plane' }],
    });
  });

  it('counts a zone that is disabled', async () => {
    const stored = storedOnGlobal('MeshTimeout', 'east', 'producer.shop');
    await apply('global', { type: 'Zone', name: 'east', enabled: false });
    const { body } = await planes.ask('global', `/meshes/default/meshtimeouts/${stored}/_sync`);
    expect(body).toMatchObject({
      targets: [{ to: 'east' }, { to: 'west', isSent: false, reason: 'zone east, from which it comes, is disabled' }],
    });
    await planes.rest();
    for (const [zone, name] of [['east', 'web-1.web'] as const, ['west', 'web-1.web'] as const]) {
      const there = storedOnGlobal('Dataplane', zone, name);
      for (const question of ['_rules', '_effective', '_layout']) {
        const here = await planes.ask(zone, `/meshes/default/dataplanes/${name}/${question}`);
        expect(JSON.stringify(here.body).includes('kri_msvc_default_east_shop_cart_')).toBe(
          zone === 'east' && question !== '_rules',
        );
        expect(await planes.ask('global', `/meshes/default/dataplanes/${there}/${question}`)).toEqual(here);
      }
    }
  });
});

async function apply(side: Side, ...bodies: Body[]): Promise<void> {
  for (const body of bodies) {
    const { path, scope } = typeOf(body.type);
    const [url, mesh] =
      scope === 'Mesh' ? [`/meshes/default/${path}/${body.name}`, { mesh: 'default' }] : [`/${path}/${body.name}`, {}];
    const { status, text } = await planes.call(side, 'PUT', url, { ...mesh, ...body });
    expect(status, text).toBeLessThan(300);
  }
}

/** The name that a zone's resource has in the store of global. */
function storedOnGlobal(type: string, zone: Zone, name: string): string {
  const own = planes.stores[zone].rows.get(idOf(type, name));
  const isCopy = (row: Resource): boolean =>
    row.type === type &&
    row.labels['kuma.io/zone'] === zone &&
    own !== undefined &&
    displayNameOf(row) === displayNameOf(own) &&
    row.labels['k8s.kuma.io/namespace'] === own.labels['k8s.kuma.io/namespace'];
  return [...planes.stores.global.rows.values()].find(isCopy)?.name ?? '';
}

/** Every hashed name that some store holds. */
function wireNames(): string[] {
  const rows = (['global', ...zones] as const).flatMap((side) => [...planes.stores[side].rows.values()]);
  return rows
    .filter(({ syncVersion }) => syncVersion !== null)
    .flatMap((row) => (row.name === displayNameOf(row) ? [] : [row.name]));
}

function idOf(type: string, name: string): string {
  return (
    [...planes.stores.global.rows.keys(), ...planes.stores.east.rows.keys(), ...planes.stores.west.rows.keys()].find(
      (id) => id.includes(JSON.stringify(type)) && id.includes(JSON.stringify(name)),
    ) ?? ''
  );
}

function service(name: string, labels: Record<string, string>): Body {
  const selector = { dataplaneLabels: { matchLabels: { app: name } } };
  return {
    type: 'MeshService',
    name,
    labels: { ...labels, tier: 'x' },
    spec: { selector, ports: [{ port: 80, appProtocol: 'http' }] },
  };
}

function multiZone(name: string): Body {
  const spec = { selector: { meshService: { matchLabels: { tier: 'x' } } }, ports: [{ port: 80, appProtocol: 'http' }] };
  return { type: 'MeshMultiZoneService', name, spec };
}

function dataplane(name: string, labels: Record<string, string>, app: string): Body {
  const networking = { address: '10.0.0.1', inbound: [{ port: 8080, name: 'http' }] };
  return { type: 'Dataplane', name, labels: { ...labels, app }, networking };
}

function timeout(name: string, targetRef: unknown, conf: unknown, labels?: Record<string, string>): Body {
  const spec = { to: [{ targetRef, default: conf }] };
  return { type: 'MeshTimeout', name, ...(labels !== undefined && { labels }), spec };
}

function route(name: string, to: string, labels: Record<string, string>): Body {
  const matches = [{ path: { type: 'PathPrefix', value: '/slow' } }];
  return {
    type: 'MeshHTTPRoute',
    name,
    labels,
    spec: { to: [{ targetRef: { kind: 'MeshService', name: to }, rules: [{ matches, default: {} }] }] },
  };
}
