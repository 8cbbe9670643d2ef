// The number of streams that a zone has open.
import { expect, it } from 'vitest';
import { OpenStreams } from './stream-limits.ts';

const east = { zone: 'east', kind: 'globalToZone', authorization: ['a'] } as const;

it('open streams are counted by zone and kind until they end', () => {
  const streams = new OpenStreams();
  const [one, two] = [{ ...east }, { ...east }];
  for (const stream of [one, one, two, { ...east, zone: 'west' }, { ...east, kind: 'zoneToGlobal' as const }])
    streams.add(stream);
  expect(streams.count(east)).toBe(2);
  streams.delete({ ...east });
  streams.delete({ ...east, zone: 'north' });
  expect(streams.count(east)).toBe(2);
  streams.delete(one);
  expect(streams.count(east)).toBe(1);
  streams.delete(two);
  streams.delete(two);
  expect([streams.count(east), streams.count({ ...east, zone: 'west' })]).toEqual([0, 1]);
  streams.add(one);
  expect(streams.count(east)).toBe(1);
});

it('a caller is known by the credentials of an open stream of its zone and kind', () => {
  const streams = new OpenStreams();
  streams.add({ ...east, authorization: ['old'] });
  streams.add(east);
  expect(streams.hasCallerOf({ ...east })).toBe(true);
  const others = [{ authorization: ['b'] }, { authorization: [] }, { zone: 'west' }, { kind: 'zoneToGlobal' as const }];
  for (const other of others) expect(streams.hasCallerOf({ ...east, ...other })).toBe(false);
  streams.delete(east);
  expect(streams.hasCallerOf(east)).toBe(false);
});
