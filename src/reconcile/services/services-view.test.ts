// A change marks the services that it can affect, and no others.
import { beforeEach, describe, expect, it } from 'vitest';
import { makeRow } from '../../../test/support/make-row.ts';
import type { JsonObject, Labels, Resource } from '../../resource/types.ts';
import { planServices } from './plan-services.ts';
import { ServicesView } from './services-view.ts';
import { ZONE_ADDRESS } from './zone-proxies.ts';

const MINUTE = 60_000;
const local = { 'kuma.io/origin': 'zone' };
const online = { subscriptions: [{ connectTime: '2026-01-01T00:00:00Z' }] };
const inbound = [{ port: 80, name: 'http', tags: { 'kuma.io/service': 'generated' } }];
const backends: JsonObject = { selector: { dataplaneLabels: { matchLabels: { app: 'backend' } } }, ports: [{ port: 80 }] };

const service = (name: string, labels: Labels, spec: JsonObject): Resource =>
  makeRow('MeshService', name, { labels: { ...local, ...labels }, spec });

const rows = {
  mesh: makeRow('Mesh', 'default'),
  generator: makeRow('HostnameGenerator', 'local', {
    labels: local,
    spec: { selector: { meshService: { matchLabels: { team: 'a' } } }, template: '{{ .DisplayName }}.local' },
  }),
  dataplane: makeRow('Dataplane', 'backend-1', { labels: { app: 'backend' }, spec: { networking: { inbound } } }),
  insight: makeRow('DataplaneInsight', 'backend-1', { spec: online }),
  identity: makeRow('MeshIdentity', 'identity', {
    spec: { selector: { dataplane: { matchLabels: {} } }, spiffeID: { path: '/a' } },
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
  }),
  selecting: service('selecting', { team: 'a' }, backends),
  other: service('other', { team: 'b' }, { ...backends, selector: { dataplaneLabels: { matchLabels: { app: 'other' } } } }),
  external: makeRow('MeshExternalService', 'external', { labels: local, spec: { match: { port: 443 } } }),
  multiZone: makeRow('MeshMultiZoneService', 'global', {
    spec: { selector: { meshService: { matchLabels: { team: 'a' } } } },
    syncVersion: 'v1',
  }),
};

let view: ServicesView;
let now: number;

/** Plans, takes in what was written, and returns the rows that were written. */
function plan(): string[] {
  const { writes } = planServices(view, { now: new Date(now), graceMs: MINUTE });
  for (const write of writes)
    if (write.op === 'put') view.accept({ ...write.row, version: write.row.version + 1 });
    else view.remove(write.before);
  return writes.map((write) => (write.op === 'put' ? write.row.name : `no ${write.before.name}`)).sort();
}

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
    [
      'a label of a Dataplane',
      changed(rows.dataplane, { labels: { app: 'other' } }),
      ['generated', 'group generated', 'other', 'selecting'],
    ],
    ['an identity', changed(rows.identity, { status: {} }), ['generated', 'other', 'selecting']],
    ['a label of a MeshService', changed(rows.other, { labels: { ...local, team: 'a' } }), ['global', 'group other', 'other']],
    ['the spec of an external service', changed(rows.external, { spec: { match: { port: 444 } } }), ['external']],
    ['a Dataplane that no service selects', makeRow('Dataplane', 'lonely'), []],
    ['a second Mesh', makeRow('Mesh', 'second'), []],
  ])('marks the services that %s can affect', (_, row, expected) => {
    view.put(row);
    expect(marks()).toEqual(expected);
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
    const { withoutVip } = planServices(view, { now: new Date(now), graceMs: null });
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
    const planned = (): number => planServices(view, { now: new Date(now), graceMs: MINUTE }).writes.length;
    expect(planned()).toBe(1);
    view.remove(rows.dataplane);
    expect([planned(), [...view.keysOf('MeshService')]]).toEqual([0, []]);
  });
});

describe('the ingress of a zone', () => {
  const address = { address: '10.0.0.9', port: 10_001 };
  const advertised = { advertisedAddress: address.address, advertisedPort: address.port };
  const ingress = makeRow('Dataplane', 'ingress', {
    spec: { networking: { zoneIngress: { address: '0.0.0.0', port: 10_001, ...advertised } } },
  });
  const ended = { subscriptions: [{ ...online.subscriptions[0], disconnectTime: '2026-01-01T00:01:00Z' }] };
  const published = (): unknown => {
    // A change is published at once, or after a second.
    plan();
    now += MINUTE;
    plan();
    return [...(view.meshes.get('default')?.zoneAddresses.values() ?? [])].map(({ spec }) => spec);
  };
  const insight = (spec: JsonObject, hold: string): void =>
    view.put(makeRow('DataplaneInsight', 'ingress', { spec, status: { hold } }));

  beforeEach(() => {
    view.put(ingress);
    insight(online, 'held');
    expect(published()).toEqual([address]);
  });

  it('stays published while its proxy has lost its control plane', () => {
    insight(ended, 'held');
    expect(published()).toEqual([address]);
  });

  it.each([
    ['whose proxy ended its stream', ended, 'released'],
    ['that says that it stops', online, 'leaving'],
  ])('%s is not published', (_, spec, hold) => {
    insight(spec, hold);
    expect(published()).toEqual([]);
  });
});
