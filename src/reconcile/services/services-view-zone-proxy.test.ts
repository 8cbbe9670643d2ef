// The address of a zone proxy: these tests show when it is published, and how long it stays while its stream is away.
import { beforeEach, describe, expect, it } from 'vitest';
import { makeRow } from '../../../test/support/make-row.ts';
import { sectionPlaces, withOpened } from '../../resource/section-places.ts';
import type { JsonObject, Resource } from '../../resource/types.ts';
import { planServices } from './plan-services.ts';
import { MINUTE, online, plannedRows, rows } from './services-view.fixture.ts';
import { ServicesView } from './services-view.ts';

let view: ServicesView;
let now: number;
/** The milliseconds by which somebody has set the date forward. */
let dateMoved: number;
const plan = (): string[] => plannedRows(view, now, now + dateMoved);

beforeEach(() => {
  view = new ServicesView('east');
  now = Date.parse('2026-01-01T00:00:00Z');
  dateMoved = 0;
  for (const row of Object.values(rows)) view.put(row);
  plan();
});

describe('a zone proxy', () => {
  const SECOND = 1_000;
  const place = { address: '10.0.0.9', port: 10_001 };
  const ingressAt = (address: string): JsonObject => ({
    ...{ address: '0.0.0.0', port: place.port, advertisedAddress: address, advertisedPort: place.port },
  });
  const zoneProxy = (name: string, networking: JsonObject, status: JsonObject = {}): Resource =>
    makeRow('Dataplane', name, { spec: { networking }, status });
  const ingress = zoneProxy('ingress', { zoneIngress: ingressAt(place.address), zoneEgress: place });
  const ended = (at = '00:01'): JsonObject => ({
    subscriptions: [{ ...online.subscriptions[0], disconnectTime: `2026-01-01T00:${at}Z` }],
  });
  /** Time passes, with a plan each second, as the loop makes one when the plan asks for it. */
  const pass = (ms: number): void => {
    for (const end = now + ms; now < end;) {
      now = Math.min(end, now + SECOND);
      plan();
    }
  };
  /** The places where other zones find the ingress, and where proxies of this zone find the egress. */
  const published = (): unknown => {
    pass(2 * SECOND);
    const mesh = view.meshes.get('default');
    const rowOf = (name: string): Resource | undefined =>
      [...(mesh?.services.values() ?? [])].find(({ base }) => base.name === name)?.stored;
    const addressOf = (given: unknown): unknown => (given as JsonObject | undefined)?.['address'] ?? null;
    const rows = [...(mesh?.zoneAddresses.values() ?? [])].map(({ spec }) => spec['address']);
    return [
      ...[addressOf(rowOf('selecting')?.spec['zoneIngress']), rows.join()],
      addressOf(rowOf('external')?.status['zoneEgress']),
    ];
  };
  const insight = (spec: JsonObject, status: JsonObject = {}, name = 'ingress'): void =>
    view.put(makeRow('DataplaneInsight', name, { spec, status }));
  /** Another leader reads the table. */
  const changeLeader = (...more: Resource[]): void => {
    const stored = [...(view.meshes.get('default')?.services.values() ?? [])].flatMap(({ stored: row }) => row ?? []);
    const addresses = [...(view.meshes.get('default')?.zoneAddresses.values() ?? [])];
    view = new ServicesView('east');
    for (const row of [...Object.values(rows), ingress, ...more, ...stored, ...addresses]) view.put(row);
  };
  const HERE = [place.address, place.address, place.address];
  const NOWHERE = [null, '', null];

  beforeEach(() => {
    view.put(ingress);
    insight(online);
    expect(published()).toEqual(HERE);
  });

  it('is not published before its Envoy exists', () => {
    view.remove(ingress);
    view.remove({ type: 'DataplaneInsight', mesh: 'default', name: 'ingress' });
    expect(published()).toEqual(NOWHERE);
    view.put(ingress);
    expect(published()).toEqual(NOWHERE);
    insight(online, { listens: [] });
    expect(published()).toEqual(NOWHERE);
    insight(online, { listens: ['0.0.0.0 10001', '10.0.0.9 10001'] });
    expect(published()).toEqual(HERE);
  });

  it('that moves keeps its address until its Envoy listens at the other one', () => {
    const other = { address: '10.0.0.8', port: place.port };
    const networking = { zoneIngress: { ...ingressAt(other.address), port: 10_002 }, zoneEgress: other };
    const opened = withOpened(ingress, sectionPlaces(ingress));
    const moved = zoneProxy('ingress', networking, opened);
    const [before, after] = [
      ['0.0.0.0 10001', '10.0.0.9 10001'],
      ['0.0.0.0 10002', '10.0.0.8 10001'],
    ];
    insight(online, { listens: before });
    view.put(moved);
    expect(published()).toEqual(HERE);
    changeLeader(moved, makeRow('DataplaneInsight', 'ingress', { spec: online, status: { listens: before } }));
    expect(published()).toEqual(HERE);
    // The row of the Dataplane and that of its insight come in any order.
    view.put(zoneProxy('ingress', networking, withOpened(moved, sectionPlaces(moved))));
    expect(published()).toEqual(HERE);
    insight(online, { listens: [...before, ...after] });
    expect(published()).toEqual([other.address, other.address, other.address]);
    insight(online, { listens: after });
    expect(published()).toEqual([other.address, other.address, other.address]);
  });

  it('that moves is published nowhere while its Envoy listens at neither place', () => {
    insight(online, { listens: ['0.0.0.0 10001', '10.0.0.9 10001'] });
    view.put(zoneProxy('ingress', { zoneIngress: { ...ingressAt('10.0.0.8'), port: 10_002 } }));
    insight(online, { listens: [] });
    expect(published()).toEqual(NOWHERE);
  });

  it.each([
    ['a Dataplane that it brought', { hold: 'held' }],
    ['a Dataplane that stays', { isLost: true }],
  ])('with %s stays published for a minute after its control plane has ended', (_, status) => {
    insight(ended(), status);
    expect(published()).toEqual(HERE);
    pass(50 * SECOND);
    expect(published()).toEqual(HERE);
    pass(10 * SECOND);
    expect(published()).toEqual(NOWHERE);
  });

  it.each([
    ['a Dataplane that it brought', { hold: 'released' }],
    ['a Dataplane that stays', {}],
  ])('with %s stays published for the grace after its stream broke', (_, status) => {
    insight(ended(), status);
    pass(7 * SECOND);
    expect(published()).toEqual(HERE);
    insight(online, status);
    pass(60 * SECOND);
    insight(ended('00:02'), status);
    pass(7 * SECOND);
    expect(published()).toEqual(HERE);
    pass(SECOND);
    expect(published()).toEqual(NOWHERE);
  });

  it('is published where its Envoy listens, and stays so while its stream is away', () => {
    const others = ['0.0.0.0 1', `${place.address} 1`];
    insight(online, { listens: others });
    expect(published()).toEqual(NOWHERE);
    insight(online, { listens: [`0.0.0.0 ${String(place.port)}`] });
    expect(published()).toEqual([place.address, place.address, null]);
    const listens = [`0.0.0.0 ${String(place.port)}`, `${place.address} ${String(place.port)}`];
    insight(online, { listens });
    expect(published()).toEqual(HERE);
    insight(ended(), { listens, isLost: true });
    pass(50 * SECOND);
    expect(published()).toEqual(HERE);
  });

  it.each<[what: string, status: JsonObject]>([
    ['said that it stops', { isLeaving: true }],
    ['listened elsewhere', { listens: ['0.0.0.0 1'] }],
  ])('that %s is published nowhere, nor when its insight is gone', (_, status) => {
    insight(online, status);
    expect(published()).toEqual(NOWHERE);
    view.remove({ type: 'DataplaneInsight', mesh: 'default', name: 'ingress' });
    expect(published()).toEqual(NOWHERE);
  });

  it('does not stay published when the date is set back meanwhile', () => {
    insight(ended(), { isLost: true });
    pass(SECOND);
    dateMoved = -60 * MINUTE;
    pass(60 * SECOND);
    expect(published()).toEqual(NOWHERE);
  });

  it('settles when the date is set back meanwhile', () => {
    for (const address of ['10.0.0.6', '10.0.0.7']) {
      view.put(zoneProxy('ingress', { zoneIngress: ingressAt(address), zoneEgress: place }));
      plan();
    }
    dateMoved = -60 * MINUTE;
    expect(published()).toEqual(['10.0.0.7', '10.0.0.7', place.address]);
  });

  it('asks for another plan when its time is over', () => {
    insight(ended());
    const { waitMs } = planServices(view, { now: new Date(now), elapsed: now, graceMs: MINUTE });
    expect(waitMs).toBe(10 * SECOND);
  });

  it('is not published while its stream is broken and another one is there', () => {
    view.put(zoneProxy('other', { zoneIngress: ingressAt('10.0.0.8') }));
    insight(online, {}, 'other');
    insight(ended());
    expect(published()).toEqual(['10.0.0.8', '10.0.0.8', place.address]);
  });

  it.each<[string, JsonObject, JsonObject]>([
    ['that brought its Dataplane', online, { hold: 'leaving' }],
    ['whose Dataplane stays', online, { isLeaving: true }],
    ['whose stream has ended', ended(), { isLeaving: true }],
    ['whose control plane has ended', ended(), { isLeaving: true, isLost: true }],
  ])('%s is not published from when it says that it stops', (_, spec, status) => {
    insight(spec, status);
    expect(published()).toEqual(NOWHERE);
  });

  it('stays published under a new leader for as long as its Envoy may wait before it tries again', () => {
    const row = makeRow('DataplaneInsight', 'ingress', { spec: ended() });
    changeLeader(row);
    pass(55 * SECOND);
    expect(published()).toEqual(HERE);
    pass(10 * SECOND);
    expect(published()).toEqual(NOWHERE);
  });

  it('that was not published is not published by a new leader while it is away, whatever another zone has at its address', () => {
    const away = makeRow('DataplaneInsight', 'ingress', { spec: ended(), status: { isLost: true } });
    view = new ServicesView('east');
    const west = makeRow('MeshService', 'west', {
      labels: { 'kuma.io/origin': 'global', 'kuma.io/zone': 'west' },
      spec: { zoneIngress: place },
    });
    const external = makeRow('MeshExternalService', 'at-ingress', { labels: { 'kuma.io/origin': 'zone' }, spec: place });
    for (const row of [...Object.values(rows), ingress, away, west, external]) view.put(row);
    expect(published()).toEqual(NOWHERE);
  });

  it.each([{}, { isLost: true }, { hold: 'held' }])('that was away is not published by a new leader: %j', (status) => {
    insight(ended(), status);
    pass(2 * MINUTE);
    expect(published()).toEqual(NOWHERE);
    const written: string[] = [];
    changeLeader(makeRow('DataplaneInsight', 'ingress', { spec: ended(), status }));
    for (let second = 0; second < 70; second += 1) {
      now += SECOND;
      written.push(...plan());
    }
    expect(written).toEqual([]);
  });
});
