import { describe, expect, it } from 'vitest';
import { fc } from '../../../test/support/property.ts';
import { hashName } from '../../resource/hash-name.ts';
import type { JsonObject, Labels } from '../../resource/types.ts';
import { nameText } from '../../resource/types.ts';
import { ProxyCounts, type CountedType } from './proxy-counts.ts';

const dataplane = (state = 'Ready'): JsonObject => ({ networking: { inbound: [{ port: 80, state }] } });
const insight = (isConnected: boolean, envoy = '1.30.0'): JsonObject => ({
  subscriptions: [
    {
      connectTime: '2026-01-01T00:00:00Z',
      ...(!isConnected && { disconnectTime: '2026-01-02T00:00:00Z' }),
      version: { envoy: { version: envoy } },
    },
  ],
});
const row = (name: string, spec: JsonObject, mesh = 'shop', labels: Labels = {}) => ({ mesh, name, spec, labels });
const text = (name: string, mesh = 'shop'): string => nameText({ mesh, name });
const shortOf = (counts: ProxyCounts) =>
  counts.takeChanged()?.map(({ mesh, status, envoy, proxies }) => [mesh, status, envoy, proxies]) ?? null;

describe('the counts of proxies', () => {
  it('have a group for each mesh, status and version', () => {
    const counts = new ProxyCounts();
    for (const name of ['a', 'b', 'c', 'd']) counts.put('Dataplane', row(name, dataplane()));
    counts.put('DataplaneInsight', row('a', insight(true)));
    counts.put('DataplaneInsight', row('b', insight(true)));
    counts.put('DataplaneInsight', row('c', insight(false)));
    expect(shortOf(counts)).toEqual([
      ['shop', 'offline', '1.30.0', 1],
      ['shop', 'offline', null, 1],
      ['shop', 'online', '1.30.0', 2],
    ]);
  });

  it('follow the inbounds of a connected proxy', () => {
    const counts = new ProxyCounts();
    const two = { networking: { inbound: [{ port: 80 }, { port: 81, state: 'NotReady' }] } };
    counts.put('Dataplane', row('a', two));
    counts.put('DataplaneInsight', row('a', insight(true)));
    expect(shortOf(counts)).toEqual([['shop', 'partiallyDegraded', '1.30.0', 1]]);
    counts.put('Dataplane', row('a', dataplane()));
    expect(shortOf(counts)).toEqual([['shop', 'online', '1.30.0', 1]]);
  });

  it('leave out an insight without a Dataplane until that comes', () => {
    const counts = new ProxyCounts();
    counts.put('DataplaneInsight', row('a', insight(true)));
    expect(shortOf(counts)).toEqual([]);
    counts.put('Dataplane', row('a', dataplane()));
    expect(shortOf(counts)).toEqual([['shop', 'online', '1.30.0', 1]]);
  });

  describe('of a Dataplane with a namespace', () => {
    const labels = { 'kuma.io/display-name': 'web', 'kuma.io/zone': 'east', 'k8s.kuma.io/namespace': 'a' };
    const hash = (name: string, namespace = ''): string => hashName({ mesh: 'shop', name, zone: 'east', namespace });
    const web = row(hash('web', 'a'), dataplane(), 'shop', labels);
    const ONLINE = [['shop', 'online', '1.30.0', 1]];
    const OFFLINE = [['shop', 'offline', null, 1]];

    it.each([hash('web', 'a'), hash('web.a'), hash('web')])('take its insight under the name %s, in any order', (name) => {
      for (const order of [0, 1]) {
        const counts = new ProxyCounts();
        const puts = [() => counts.put('Dataplane', web), () => counts.put('DataplaneInsight', row(name, insight(true)))];
        for (const put of order === 0 ? puts : puts.toReversed()) put();
        expect(shortOf(counts)).toEqual(ONLINE);
        expect(counts.has(text(name))).toBe(true);
        counts.keepOnly('DataplaneInsight', new Set([text(name)]));
        expect(shortOf(counts)).toBeNull();
        counts.remove('DataplaneInsight', text(name));
        expect(shortOf(counts)).toEqual(OFFLINE);
        counts.remove('Dataplane', text(web.name));
        expect(counts.size).toBe(0);
      }
    });

    it('leave the insight of another Dataplane to that', () => {
      const counts = new ProxyCounts();
      const plain = row(hash('web'), dataplane());
      counts.put('Dataplane', web);
      counts.put('DataplaneInsight', row(plain.name, insight(true)));
      counts.put('Dataplane', plain);
      expect(shortOf(counts)).toEqual([...OFFLINE, ...ONLINE]);
      counts.remove('Dataplane', text(web.name));
      expect(shortOf(counts)).toEqual(ONLINE);
    });
  });

  it('are not given again while nothing changes', () => {
    const counts = new ProxyCounts();
    expect(shortOf(counts)).toEqual([]);
    expect(shortOf(counts)).toBeNull();
    counts.put('Dataplane', row('a', dataplane()));
    expect(shortOf(counts)).toHaveLength(1);
    counts.put('Dataplane', row('a', dataplane()));
    counts.remove('DataplaneInsight', text('a'));
    counts.remove('Dataplane', text('other'));
    expect(shortOf(counts)).toBeNull();
  });

  it('keep the status of proxies with many versions, and not each version', () => {
    const counts = new ProxyCounts();
    for (let index = 0; index < 1_000; index += 1) {
      counts.put('Dataplane', row(`p-${String(index)}`, dataplane()));
      counts.put('DataplaneInsight', row(`p-${String(index)}`, insight(index % 2 === 0, `1.${String(index)}`)));
    }
    const groups = counts.takeChanged() ?? [];
    expect(groups).toHaveLength(202);
    const total = (status: string): number =>
      groups.filter((one) => one.status === status).reduce((sum, { proxies }) => sum + proxies, 0);
    expect([total('online'), total('offline')]).toEqual([500, 500]);
  });

  it('limit the texts of a proxy', () => {
    const counts = new ProxyCounts();
    counts.put('Dataplane', row('a', dataplane()));
    counts.put('DataplaneInsight', row('a', insight(true, `\0${'9'.repeat(5_000)}`)));
    expect(counts.takeChanged()?.[0]?.envoy).toBe('9'.repeat(99));
  });

  it('are the same as those of the resources that are there, after any changes', () => {
    const change = fc.oneof(
      fc.record({
        kind: fc.constant('put' as const),
        type: fc.constantFrom<CountedType>('Dataplane', 'DataplaneInsight'),
        name: fc.constantFrom('a', 'b', 'c'),
        isGood: fc.boolean(),
      }),
      fc.record({
        kind: fc.constant('remove' as const),
        type: fc.constantFrom<CountedType>('Dataplane', 'DataplaneInsight'),
        name: fc.constantFrom('a', 'b', 'c'),
      }),
      fc.record({
        kind: fc.constant('keepOnly' as const),
        type: fc.constantFrom<CountedType>('Dataplane', 'DataplaneInsight'),
        names: fc.subarray(['a', 'b', 'c']),
      }),
    );
    fc.assert(
      fc.property(fc.array(change, { maxLength: 30 }), (changes) => {
        const counts = new ProxyCounts();
        const there = new Map<string, JsonObject>();
        for (const one of changes) {
          if (one.kind === 'put') {
            const spec = one.type === 'Dataplane' ? dataplane(one.isGood ? 'Ready' : 'NotReady') : insight(one.isGood);
            counts.put(one.type, row(one.name, spec));
            there.set(`${one.type} ${one.name}`, spec);
          } else if (one.kind === 'remove') {
            counts.remove(one.type, text(one.name));
            there.delete(`${one.type} ${one.name}`);
          } else {
            counts.keepOnly(one.type, new Set(one.names.map((name) => text(name))));
            for (const name of ['a', 'b', 'c']) if (!one.names.includes(name)) there.delete(`${one.type} ${name}`);
          }
        }
        const again = new ProxyCounts();
        for (const [key, spec] of there) {
          const [type, name = ''] = key.split(' ');
          again.put(type as CountedType, row(name, spec));
        }
        expect(counts.takeChanged() ?? []).toEqual(again.takeChanged());
        expect(counts.size).toBe(again.size);
      }),
    );
  });
});
