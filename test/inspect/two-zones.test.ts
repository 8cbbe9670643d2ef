// Inspect in a multizone mesh: global and the zone give the same answer about a proxy, each with its own stored names.
import { describe, expect, it } from 'vitest';
import { displayNameOf } from '../../src/resource/labels.ts';
import type { Side } from '../golden/control-planes.ts';
import { asInTheZone } from './as-in-the-zone.ts';
import { meshOfTwoZones } from './mesh-of-two-zones.ts';

const mesh = meshOfTwoZones();
const { planes } = mesh;

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
  ])('has the same %s on global and in its zone', async (question) => {
    const here = await planes.ask(zone, `/meshes/default/dataplanes/${name}/${question}`);
    const there = await planes.ask(
      'global',
      `/meshes/default/dataplanes/${mesh.storedOnGlobal('Dataplane', zone, name)}/${question}`,
    );
    expect(here.status).toBe(200);
    expect({ ...there, body: asInTheZone(there.body, zone) }).toEqual({ ...here, body: asInTheZone(here.body, zone) });
  });
});

/** The metas of an answer: every object with a type, a name and labels. */
function metasIn(body: unknown): { type: string; mesh: string; name: string }[] {
  if (Array.isArray(body)) return body.flatMap(metasIn);
  if (typeof body !== 'object' || body === null) return [];
  const { type, mesh: ofMesh, name, labels } = body as Record<string, unknown>;
  if (typeof type === 'string' && typeof name === 'string' && typeof labels === 'object')
    return [{ type, mesh: typeof ofMesh === 'string' ? ofMesh : '', name }];
  return Object.values(body).flatMap(metasIn);
}

describe('the names in an answer', () => {
  it.each(['global', 'east', 'west'] as const)(
    'of %s are those of its store, so that the next request finds them',
    async (side) => {
      const rows = [...planes.stores[side].rows.values()];
      const named = (type: string): string[] =>
        rows.filter((row) => row.type === type).map(({ name }) => encodeURIComponent(name));
      const questions = [
        ...named('Dataplane').flatMap((name) => ['_rules', '_effective', 'policies'].map((last) => `dataplanes/${name}/${last}`)),
        ...named('MeshTimeout').flatMap((name) =>
          ['_resources/dataplanes', '_reach', '_sync', 'dataplanes'].map((last) => `meshtimeouts/${name}/${last}`),
        ),
        ...named('MeshService').map((name) => `meshservices/${name}/_dataplanes`),
      ];
      const metas = new Map<string, { type: string; mesh: string; name: string }>();
      for (const question of questions) {
        const { status, body } = await planes.ask(side, `/meshes/default/${question}`);
        expect(status, question).toBe(200);
        for (const meta of metasIn(body)) metas.set(JSON.stringify(meta), meta);
        const { items = [] } = body as { items?: { dataplane?: { mesh: string; name: string } }[] };
        for (const { dataplane } of items)
          if (dataplane !== undefined) metas.set(JSON.stringify(dataplane), { type: 'Dataplane', ...dataplane });
      }
      expect(metas.size).toBeGreaterThan(5);
      const stored = new Set(rows.map(({ type, mesh: ofMesh, name }) => JSON.stringify([type, ofMesh, name])));
      const lost = [...metas.values()].filter(
        ({ type, mesh: ofMesh, name }) => !stored.has(JSON.stringify([type, ofMesh, name])),
      );
      expect(lost).toEqual([]);
    },
  );
});

describe('the answers', () => {
  const at = `/meshes/default/dataplanes/web-1.web`;
  const question = '_outbounds/kri_msvc_default_east_shop_cart_80/_routes/kri_mhttpr_default_east_shop_slow_/_policies';

  it('add the conf of a consumer policy to that of the producer, in its own zone and namespace only', async () => {
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

  it('of global about proxies of a zone omit policies that the zone does not have', async () => {
    const card = '_outbounds/kri_extsvc_default_west__card_443/_policies';
    const east = `/meshes/default/dataplanes/${mesh.storedOnGlobal('Dataplane', 'east', 'web-1.web')}`;
    const west = `/meshes/default/dataplanes/${mesh.storedOnGlobal('Dataplane', 'west', 'web-1.web')}`;
    expect((await planes.ask('global', `${east}/${card}`)).status).toBe(404);
    expect((await planes.ask('east', `${at}/${card}`)).status).toBe(404);
    expect(await planes.ask('global', `${west}/${card}`)).toEqual(await planes.ask('west', `${at}/${card}`));
    expect((await planes.ask('global', '/meshes/default/meshtimeouts/at-home/_reach')).body).toMatchObject({
      total: 0,
      untouched: [{ reason: 'stays where it was written (label kuma.io/kds-sync is disabled)', proxies: 4 }],
    });
  });

  it('keep an unresolved reference with a warning, and without effect', async () => {
    const { body } = await planes.ask('east', `${at}/_rules`);
    const { rules } = body as { rules: { type: string; warnings: string[] }[] };
    expect(rules.find(({ type }) => type === 'MeshTimeout')?.warnings).toEqual([
      'MeshTimeout nowhere: spec.to[0].targetRef: MeshService gone does not exist',
    ]);
  });

  it('list the proxies of policies and services by display name, with paging', async () => {
    const named = async (side: Side, url: string): Promise<unknown> => {
      const { body } = await planes.ask(side, url);
      const { items, ...page } = body as { items: { name: string; labels: Record<string, string> }[] };
      return { ...page, items: items.map((item) => `${item.labels['kuma.io/zone'] ?? ''}/${displayNameOf(item)}`) };
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
    const consumer = `/meshes/default/meshtimeouts/${mesh.storedOnGlobal('MeshTimeout', 'east', 'consumer.web')}`;
    expect(await named('global', `${consumer}/_resources/dataplanes`)).toEqual({ total: 1, items: ['east/web-1'] });
  });

  it('have the deprecated form that kumactl requests', async () => {
    const { body } = await planes.ask('east', '/meshes/default/meshtimeouts/producer.shop/dataplanes');
    expect(body).toMatchObject({
      total: 2,
      items: [
        {
          kind: 'SidecarDataplane',
          dataplane: { mesh: 'default', name: 'cart-1.shop' },
          attachments: [{ type: 'dataplane' }],
        },
        { dataplane: { name: 'web-1.web' } },
      ],
    });
  });

  it('explain why a policy configures no proxy', async () => {
    const { body } = await planes.ask('global', '/meshes/default/meshtimeouts/nowhere/_reach');
    expect(body).toMatchObject({
      total: 0,
      touched: [],
      warnings: ['spec.to[0].targetRef: MeshService gone does not exist'],
      untouched: [{ reason: 'matches, but has no effect: MeshService gone does not exist', proxies: 4 }],
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
  ])('have for %s the status %d', async (url, status) => {
    expect(await planes.ask('east', url)).toMatchObject({ status, body: { type: '/std-errors', status } });
  });
});
