// A change marks the services that it can affect, and no others.
import { beforeEach, describe, expect, it } from 'vitest';
import { makeRow } from '../../../test/support/make-row.ts';
import type { JsonObject, Resource } from '../../resource/types.ts';
import { planServices } from './plan-services.ts';
import { backends, inbound, inForce, local, MINUTE, online, plannedRows, rows, service } from './services-view.fixture.ts';
import { ServicesView } from './services-view.ts';
import { ZONE_ADDRESS } from './zone-proxies.ts';

let view: ServicesView;
let now: number;

const plan = (): string[] => plannedRows(view, now);

/** The marked services and generated services. */
function marks(): string[] {
  const marked = [...view.meshes.values()].flatMap(({ dirty, dirtyGroups, services }) => [
    ...[...dirty].map((id) => services.get(id)?.base.name ?? 'none'),
    ...[...dirtyGroups].map((name) => `group ${name}`),
  ]);
  return marked.sort();
}

beforeEach(() => {
  view = new ServicesView('east');
  now = Date.parse('2026-01-01T00:00:00Z');
  for (const row of Object.values(rows)) view.put(row);
  plan();
});

describe('a view of services', () => {
  it('plans no second write, and no later pass', () => {
    expect([marks(), plan()]).toEqual([[], []]);
  });

  it.each(Object.entries(rows))('marks nothing for another version of a row with the same content: %s', (_, row) => {
    const stored = [...view.meshes.values()].flatMap((mesh) => [...mesh.services.values()]).map((entry) => entry.stored);
    const current = stored.find((one) => one?.type === row.type && one.name === row.name) ?? row;
    view.put({ ...current, version: 7 });
    view.refreshClaims();
    expect(marks()).toEqual([]);
  });

  const changed = (row: Resource, fields: Partial<Resource>): Resource => ({ ...row, ...fields });

  it.each<[string, Resource, string[]]>([
    ['an insight', changed(rows.insight, { spec: {} }), ['generated', 'selecting']],
    ['a label of a Dataplane', changed(rows.dataplane, { labels: { app: 'other' } }), ['other', 'selecting']],
    [
      'a label of a Dataplane that no service and no identity names',
      changed(rows.dataplane, { labels: { app: 'backend', revision: '2' } }),
      [],
    ],
    [
      'an inbound of a Dataplane',
      changed(rows.dataplane, { spec: { networking: { inbound: inbound.map((one) => ({ ...one, port: 81 })) } } }),
      ['generated', 'group generated', 'selecting'],
    ],
    ['an identity', changed(rows.identity, { status: {} }), ['generated', 'other', 'selecting']],
    ['what is in force of an identity', inForce, ['generated', 'other', 'selecting']],
    ['another Secret', makeRow('Secret', 'another'), []],
    ['a label of a MeshService', changed(rows.other, { labels: { ...local, team: 'a' } }), ['global', 'group other', 'other']],
    ['the spec of an external service', changed(rows.external, { spec: { match: { port: 444 } } }), ['external']],
    ['a Dataplane that no service selects', makeRow('Dataplane', 'lonely'), []],
    ['a second Mesh', makeRow('Mesh', 'second'), []],
  ])('marks the services that %s can affect', (_, row, expected) => {
    view.put(row);
    expect(marks()).toEqual(expected);
  });

  it('marks the services that a Dataplane serves with another SPIFFE ID', () => {
    const spiffeID = { path: '/{{ label "revision" }}' };
    view.put(changed(rows.identity, { spec: { ...rows.identity.spec, spiffeID } }));
    plan();
    plan();
    view.put(changed(rows.dataplane, { labels: { app: 'backend', revision: '2' } }));
    expect(marks()).toEqual(['generated', 'selecting']);
  });

  it('computes no row for a Dataplane that changes and serves as before, and one for another that does not', () => {
    const nth = (at: number, more: Partial<Resource> = {}): Resource =>
      changed(rows.dataplane, { name: `backend-${String(at)}`, labels: { app: 'backend', revision: '1' }, ...more });
    for (let at = 2; at <= 40; at += 1) view.put(nth(at));
    plan();
    plan();
    view.put(nth(7, { labels: { app: 'backend', revision: '2' } }));
    expect(marks()).toEqual([]);
    view.put(nth(8, { labels: { app: 'other' } }));
    expect(marks()).toEqual(['other', 'selecting']);
    expect(plan()).toEqual(['other', 'selecting']);
  });

  it('marks the services of a Dataplane that is removed, and its group', () => {
    view.remove(rows.dataplane);
    expect(marks()).toEqual(['generated', 'group generated', 'selecting']);
  });

  it('marks the services of a proxy when it is ready for TLS, and not when only what it calls changes', () => {
    const tls = (isReady: boolean, plaintextTo: string[]): Resource =>
      changed(rows.insight, { status: { tls: { isReady, plaintextTo } } });
    view.put(tls(true, []));
    expect(marks()).toEqual(['generated', 'selecting']);
    plan();
    plan();
    view.put(tls(true, []));
    view.put(tls(true, ['kri_msvc_default_west__other_']));
    expect(marks()).toEqual([]);
    view.remove(rows.insight);
    expect(marks()).toEqual(['generated', 'selecting']);
  });

  it.each<[string, JsonObject]>([
    ['its stream', {}],
    ['that it leaves', { hold: 'leaving' }],
    ['its readiness for TLS', { tls: { isReady: true, plaintextTo: [] } }],
  ])('forgets with the insight of a proxy %s', (_, status) => {
    const without = new ServicesView('east');
    const { insight, ...others } = rows;
    for (const row of Object.values(others)) without.put(row);
    plannedRows(without, now);
    view = new ServicesView('east');
    for (const row of Object.values(rows)) view.put(row);
    view.put(changed(insight, { status }));
    view.remove(insight);
    plan();
    const statuses = (of: ServicesView): unknown[] =>
      [...(of.meshes.get('default')?.services.values() ?? [])].map(({ stored }) => [stored?.name, stored?.status, stored?.spec]);
    expect(statuses(view).sort()).toEqual(statuses(without).sort());
  });

  it.each([
    ['Ready', true, 'Ready'],
    ['Ready', false, 'NotReady'],
    ['NotReady', true, 'NotReady'],
  ])('offers TLS where an inbound takes requests and all accept TLS: %s, %s: %s', (state, isReady, expected) => {
    view.put(changed(rows.dataplane, { spec: { networking: { inbound: inbound.map((one) => ({ ...one, state })) } } }));
    view.put(changed(rows.insight, { status: { tls: { isReady, plaintextTo: [] } } }));
    plan();
    expect(view.meshes.get('default')?.serviceNamed('selecting')?.stored?.status['tls']).toEqual({ status: expected });
  });

  it('lets the older of two services with one address keep it, and gives another to the younger', () => {
    const vipOf = (name: string): string | undefined => {
      const entry = view.meshes.get('default')?.serviceNamed(name);
      return entry && view.vipOf(entry);
    };
    const taken = vipOf('selecting') ?? '';
    const withVip = (name: string, time: number): Resource => ({
      ...service(name, {}, backends),
      ...{ creationTime: new Date(time), status: { vips: [{ ip: taken }] } },
    });
    view.put(withVip('younger', 9));
    expect(plan()).toEqual(['younger']);
    expect([vipOf('selecting'), vipOf('younger') === taken]).toEqual([taken, false]);
    view.put(withVip('older', -9));
    expect(marks()).toEqual(['group older', 'older', 'selecting']);
    plan();
    expect([vipOf('older'), vipOf('selecting') === taken]).toEqual([taken, false]);
  });

  it('gives the address of a removed service to another when there is no free one', () => {
    const networks = { MeshService: '241.0.0.0/32', MeshExternalService: '242.0.0.0/8', MeshMultiZoneService: '243.0.0.0/8' };
    view = new ServicesView('east', networks);
    const planned = (): number => planServices(view, { now: new Date(now), elapsed: now, graceMs: null }).withoutVip;
    view.put(rows.mesh);
    view.put(rows.selecting);
    expect(planned()).toBe(0);
    view.put(rows.other);
    expect(planned()).toBe(1);
    view.remove(rows.selecting);
    view.touchAll();
    expect(planned()).toBe(0);
  });

  it('marks all services when a HostnameGenerator is created, changed or deleted', () => {
    const all = ['external', 'generated', 'global', 'other', 'selecting'];
    for (const row of [
      changed(rows.generator, { spec: { ...rows.generator.spec, template: 'one.local' } }),
      changed(rows.generator, { creationTime: new Date(1) }),
      changed(rows.generator, { name: 'another' }),
    ]) {
      view.put(row);
      view.refreshClaims();
      expect(marks()).toEqual(all);
      plan();
    }
    view.remove({ type: 'HostnameGenerator', mesh: '', name: 'another' });
    view.refreshClaims();
    expect(marks()).toEqual(all);
    plan();
    view.remove({ type: 'HostnameGenerator', mesh: '', name: 'unknown' });
    view.refreshClaims();
    expect(marks()).toEqual([]);
  });

  it('plans nothing for a missing mesh, and everything when the mesh is created', () => {
    view.remove({ type: 'Mesh', mesh: '', name: 'default' });
    expect(plan()).toEqual([]);
    view.put(rows.mesh);
    expect(marks()).toEqual([
      ...['external', 'generated', 'global', 'group generated', 'group other', 'group selecting', 'other', 'selecting'],
    ]);
  });

  it('names the known rows of each type', () => {
    const known = (type: string): string[] => [...view.keysOf(type)].map(({ name }) => name).sort();
    expect(known('Mesh')).toEqual(['default']);
    expect(known('HostnameGenerator')).toEqual(['local']);
    expect(known('Dataplane')).toEqual(['backend-1']);
    expect(known('DataplaneInsight')).toEqual(['backend-1']);
    expect(known('MeshIdentity')).toEqual(['identity']);
    expect(known('Secret')).toEqual([]);
    view.put(makeRow('Secret', 'another'));
    view.put(inForce);
    expect(known('Secret')).toEqual(['identity-in-force']);
    view.remove(inForce);
    expect(known('Secret')).toEqual([]);
    expect(known('MeshService')).toEqual(['generated', 'other', 'selecting']);
    expect(known('MeshExternalService')).toEqual(['external']);
    expect(known('MeshMultiZoneService')).toEqual(['global']);
    expect(known('MeshZoneAddress')).toEqual([]);
    view.put(makeRow('MeshZoneAddress', ZONE_ADDRESS));
    view.put(makeRow('MeshZoneAddress', 'of-another-zone'));
    expect(known('MeshZoneAddress')).toEqual([ZONE_ADDRESS]);
    view.remove({ type: 'MeshZoneAddress', mesh: 'default', name: 'of-another-zone' });
    expect(known('MeshZoneAddress')).toEqual([ZONE_ADDRESS]);
    view.remove({ type: 'MeshZoneAddress', mesh: 'default', name: ZONE_ADDRESS });
    expect(known('MeshZoneAddress')).toEqual([]);
  });

  it.each<[string, JsonObject]>([
    ['an empty matchLabels', { meshService: { matchLabels: {} } }],
    ['no matchLabels', { meshService: {} }],
    ['no selector', {}],
  ])('matches no MeshService for a MeshMultiZoneService with %s, as proxies do', (_, selector) => {
    view.put(changed(rows.multiZone, { spec: { selector } }));
    plan();
    const services = [...(view.meshes.get('default')?.services.values() ?? [])];
    const { status } = services.find(({ base }) => base.name === 'global')?.stored ?? {};
    expect(status).toMatchObject({ conditions: [{ status: 'False', reason: 'NoMatchesFound' }] });
    expect(status).not.toHaveProperty('meshServices');
  });

  it('marks a service and its group after a failed write, and no unknown one', () => {
    view.touch({ type: 'MeshService', mesh: 'default', name: 'selecting' });
    view.touch({ type: 'MeshExternalService', mesh: 'default', name: 'unknown' });
    expect(marks()).toEqual(['group selecting', 'selecting']);
  });

  it('marks everything when everything is touched', () => {
    view.touchAll();
    expect(marks()).toEqual([
      ...['external', 'generated', 'global', 'group generated', 'group other', 'group selecting', 'other', 'selecting'],
    ]);
  });

  it('gives an address to the oldest services first, and none in a mesh that is not there', () => {
    view = new ServicesView('east', {
      MeshService: '241.0.0.0/31',
      MeshExternalService: '242.0.0.0/8',
      MeshMultiZoneService: '243.0.0.0/8',
    });
    const aged = (name: string, mesh: string, time: number): Resource => ({
      ...service(name, {}, backends),
      ...{ mesh, creationTime: new Date(time) },
    });
    view.put(rows.mesh);
    for (const row of [
      aged('elsewhere', 'other', 0),
      aged('young', 'default', 3),
      aged('old', 'default', 1),
      aged('middle', 'default', 2),
    ])
      view.put(row);
    const { withoutVip } = planServices(view, { now: new Date(now), elapsed: now, graceMs: null });
    const vips = [...view.meshes.values()].flatMap(({ services }) =>
      [...services.values()].map((entry) => [entry.base.name, view.vipOf(entry)]),
    );
    expect([withoutVip, Object.fromEntries(vips)]).toEqual([
      1,
      { elsewhere: '', old: '241.0.0.0', middle: '241.0.0.1', young: '' },
    ]);
  });

  it('forgets a generated service that was never written when its last Dataplane is removed', () => {
    view = new ServicesView('east');
    for (const row of [rows.mesh, rows.dataplane]) view.put(row);
    const planned = (): number => planServices(view, { now: new Date(now), elapsed: now, graceMs: MINUTE }).writes.length;
    expect(planned()).toBe(1);
    view.remove(rows.dataplane);
    expect([planned(), [...view.keysOf('MeshService')]]).toEqual([0, []]);
  });
});

it('of two services with one SNI the older publishes it, and the other when it is alone', () => {
  const zoneIngress = { address: '0.0.0.0', port: 1, advertisedAddress: '10.0.0.9', advertisedPort: 1 };
  view.put(makeRow('Dataplane', 'ingress', { spec: { networking: { zoneIngress } } }));
  view.put(makeRow('DataplaneInsight', 'ingress', { spec: online }));
  const placed: Resource = {
    ...service('a-b', { 'kuma.io/display-name': 'a', 'k8s.kuma.io/namespace': 'b' }, backends),
    creationTime: new Date(1),
  };
  const dotted: Resource = { ...service('a.b', {}, backends), creationTime: new Date(2) };
  const publishes = (name: string): boolean => {
    plan();
    const found = [...(view.meshes.get('default')?.services.values() ?? [])].find(({ base }) => base.name === name);
    return found?.stored?.spec['zoneIngress'] !== undefined;
  };
  view.put(dotted);
  expect(publishes('a.b')).toBe(true);
  view.put(placed);
  expect([publishes('a-b'), publishes('a.b')]).toEqual([true, false]);
  view.remove(placed);
  expect(publishes('a.b')).toBe(true);
});
