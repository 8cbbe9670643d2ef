import { expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import type { EncodedPart } from './encoded-part.ts';
import { ZoneParts } from './zone-parts.ts';

type Noted = [before: EncodedPart | undefined, after: EncodedPart | undefined];

const SERVICES = ['a', 'b'];
const PORTS = ['1', '2', '3'];
/** Two parts for each port of a service. The second has one resource more, and the names of one port are its own. */
const PARTS = new Map(
  SERVICES.flatMap((service) =>
    PORTS.flatMap((port) =>
      [0, 1].map((version): [string, EncodedPart] => {
        const names = Array.from({ length: version + 1 }, (_, at) => `${service}${port}-${String(at)}`);
        const resources = names.map((name) => ({
          type: 'Cluster' as const,
          resource: { name, version: String(version), bytes: new Uint8Array() },
        }));
        return [`${service}${port}${String(version)}`, { resources, problems: [] }];
      }),
    ),
  ),
);
const step = fc.record({
  service: fc.constantFrom(...SERVICES),
  versions: fc.array(fc.option(fc.nat(1)), { minLength: PORTS.length, maxLength: PORTS.length }),
});

it('the parts of a zone proxy are those that were set last, by service and by resource, and the result names each replaced one', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 8 }), (steps) => {
      const parts = new ZoneParts();
      const held = new Map<string, Map<string, EncodedPart>>();
      for (const { service, versions } of steps) {
        const ports = new Map(
          PORTS.flatMap((port, at): [string, EncodedPart][] => {
            const part = PARTS.get(`${service}${port}${String(versions[at])}`);
            return part === undefined ? [] : [[port, part]];
          }),
        );
        const before = held.get(service);
        const expected = PORTS.map((port): Noted => [before?.get(port), ports.get(port)]).filter(([was, is]) => was !== is);
        const noted: Noted[] = [];
        const known = (part: EncodedPart): EncodedPart | undefined => (part.resources.length === 0 ? undefined : part);
        parts.set(service, ports, (was, is) => void noted.push([known(was), known(is)]));
        expect(noted).toHaveLength(expected.length);
        expect(new Set(noted.map(([was, is]) => `${idOf(was)} ${idOf(is)}`))).toEqual(
          new Set(expected.map(([was, is]) => `${idOf(was)} ${idOf(is)}`)),
        );
        if (ports.size === 0) held.delete(service);
        else held.set(service, ports);
        expect([...parts.services()].sort()).toEqual([...held.keys()].sort());
        const all = [...held.values()].flatMap((some) => [...some.values()]);
        expect([...parts.parts()].map(idOf).sort()).toEqual(all.map(idOf).sort());
        for (const { resources } of PARTS.values())
          for (const { resource } of resources)
            expect(parts.with(resource.name)).toBe(
              all.find((part) => part.resources.some((one) => one.resource.name === resource.name)),
            );
      }
    }),
  );
});

function idOf(part: EncodedPart | undefined): string {
  return [...PARTS].find(([, one]) => one === part)?.[0] ?? '-';
}
