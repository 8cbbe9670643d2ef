// Which names a launcher answers, from differences of the zone and the listeners of its Envoy.
import { describe, expect, it } from 'vitest';
import { NameRecords, type NameRecord } from './name-records.ts';

function record(address: string, ports: readonly number[] = [80]): NameRecord {
  return {
    version: `${address} ${ports.join()}`,
    addresses: [address],
    places: ports.map((port) => `${address}:${String(port)}`),
  };
}

function answered(records: NameRecords): unknown {
  return ['a', 'b'].map((name) => records.lookup(name)?.join() ?? null);
}

describe('the names of a launcher', () => {
  it('are answered when all listeners behind them listen', () => {
    const records = new NameRecords();
    records.apply([['a', record('241.0.0.1', [80, 90])]], []);
    expect([records.lookup('a'), [...records.waiting]]).toEqual([undefined, ['a']]);
    expect(records.open(new Set(['241.0.0.1:80']))).toBe(false);
    expect(records.open(new Set(['241.0.0.1:80', '241.0.0.1:90']))).toBe(true);
    expect([records.lookup('a'), [...records.waiting]]).toEqual([['241.0.0.1'], []]);
  });

  it('keep their last answer until the next one leads somewhere', () => {
    const records = new NameRecords();
    records.apply([['a', record('241.0.0.1')]], []);
    records.open(new Set(['241.0.0.1:80']));
    records.apply([['a', record('241.0.0.9')]], []);
    expect(records.lookup('a')).toEqual(['241.0.0.1']);
    records.open(new Set(['241.0.0.9:80']));
    expect(records.lookup('a')).toEqual(['241.0.0.9']);
  });

  it('wait for nothing when their address stays or comes back', () => {
    const records = new NameRecords();
    records.apply([['a', record('241.0.0.1')]], []);
    records.open(new Set(['241.0.0.1:80']));
    records.apply([['a', record('241.0.0.1', [80, 90])]], []);
    expect(records.waiting.size).toBe(0);
    records.apply([['a', record('241.0.0.9')]], []);
    records.apply([['a', record('241.0.0.1')]], []);
    expect(records.waiting.size).toBe(0);
  });

  it('go at once when the zone removes them', () => {
    const records = new NameRecords();
    records.apply(
      [
        ['a', record('241.0.0.1')],
        ['b', record('241.0.0.2')],
      ],
      [],
    );
    records.open(new Set(['241.0.0.1:80']));
    records.apply([], ['a', 'b', 'unknown']);
    expect([answered(records), records.waiting.size, records.versions.size]).toEqual([[null, null], 0, 0]);
  });

  it('are the same after they were kept, with their versions and what they wait for', () => {
    const records = new NameRecords();
    records.apply(
      [
        ['a', record('241.0.0.1')],
        ['b', record('241.0.0.2')],
      ],
      [],
    );
    records.open(new Set(['241.0.0.1:80']));
    records.apply([['a', record('241.0.0.9')]], []);
    const kept = NameRecords.fromJson(JSON.parse(JSON.stringify(records.toJson())));
    expect(kept.versions).toEqual(records.versions);
    expect([answered(kept), [...kept.waiting].sort()]).toEqual([
      ['241.0.0.1', null],
      ['a', 'b'],
    ]);
  });

  it.each([null, 7, {}, { names: 7 }, { names: { a: 7, b: { version: '' } } }])('are none in %j', (json) => {
    expect(NameRecords.fromJson(json).versions.size).toBe(0);
  });
});
