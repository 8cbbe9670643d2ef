import { expect, it } from 'vitest';
import { fc } from '../../../test/support/property.ts';
import { StreamsByZone } from './streams-by-zone.ts';

it('the streams of a zone are those that were added and not deleted, after any events', () => {
  const event = fc.record({ isAdded: fc.boolean(), zone: fc.constantFrom('east', 'west', 'north'), id: fc.nat(5) });
  fc.assert(
    fc.property(fc.array(event, { maxLength: 60 }), (events) => {
      const streams = new StreamsByZone<{ readonly zone: string; readonly id: number }>();
      const known = new Map<string, { readonly zone: string; readonly id: number }>();
      for (const { isAdded, zone, id } of events) {
        const key = `${zone} ${String(id)}`;
        const stream = known.get(key) ?? { zone, id };
        if (isAdded) streams.add(known.set(key, stream).get(key) ?? stream);
        else {
          streams.delete(stream);
          known.delete(key);
        }
      }
      expect(new Set(streams.all())).toEqual(new Set(known.values()));
      for (const zone of ['east', 'west', 'north']) {
        const expected = [...known.values()].filter((stream) => stream.zone === zone);
        expect(new Set(streams.of(zone))).toEqual(new Set(expected));
        expect(streams.has(zone)).toBe(expected.length > 0);
      }
    }),
  );
});

it('the streams of a zone may end while they are read', () => {
  const streams = new StreamsByZone<{ readonly zone: string }>();
  const [first, second] = [{ zone: 'east' }, { zone: 'east' }];
  for (const stream of [first, second]) streams.add(stream);
  for (const stream of streams.of('east')) streams.delete(stream);
  expect([streams.has('east'), [...streams.all()]]).toEqual([false, []]);
});
