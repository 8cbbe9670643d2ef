import { describe, expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import { makeRow } from '../../test/support/make-row.ts';
import { kumaSni, serviceSni } from './sni.ts';
import { SniSharers } from './sni-sharers.ts';
import { keyText, type Resource } from './types.ts';

function service(type: string, name: string, { zone = '', namespace = '', age = 0 } = {}): Resource {
  const labels = {
    ...{ 'kuma.io/display-name': name, 'kuma.io/origin': zone === '' ? 'global' : 'zone' },
    ...(zone !== '' && { 'kuma.io/zone': zone }),
    ...(namespace !== '' && { 'k8s.kuma.io/namespace': namespace }),
  };
  return makeRow(type, [name, namespace, zone].join('-'), { labels, creationTime: new Date(age) });
}

const part = fc.constantFrom('a', 'b');
const name = fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('.'));
const services = fc.uniqueArray(
  fc
    .record({
      ...{ type: fc.constantFrom('MeshService', 'MeshExternalService', 'MeshMultiZoneService'), name, age: fc.nat(2) },
      ...{ zone: fc.constantFrom('', 'east', 'west'), namespace: fc.oneof(fc.constant(''), part) },
    })
    .map(({ type, name: of, ...made }) => service(type, of, made)),
  { selector: keyText, maxLength: 12 },
);
const fill = (all: readonly Resource[]): SniSharers => {
  const sharers = new SniSharers();
  for (const one of all) sharers.add(one);
  return sharers;
};

describe('services with one server name', () => {
  it('are those whose server names are equal with equal ports, but for MeshServices of two zones', () => {
    fc.assert(
      fc.property(services, (all) => {
        const sharers = fill(all);
        for (const one of all) {
          const equal = all.filter((other) => {
            const areTwoZones = one.type === 'MeshService' && one.labels['kuma.io/zone'] !== other.labels['kuma.io/zone'];
            const isHashed = !areTwoZones && serviceSni(one, 80) === serviceSni(other, 80);
            return other !== one && (isHashed || kumaSni(one, '80') === kumaSni(other, '80'));
          });
          expect(sharers.of(one).map(keyText).sort()).toEqual(equal.map(keyText).sort());
        }
      }),
    );
  });

  it('are ordered by age in any order of arrival, and a removed one leaves nothing', () => {
    fc.assert(
      fc.property(services, services, (all, others) => {
        const sharers = fill([...others.filter((other) => !all.some((one) => keyText(one) === keyText(other))), ...all]);
        for (const other of others) if (!all.some((one) => keyText(one) === keyText(other))) sharers.remove(other);
        const fresh = fill(all.toReversed());
        for (const one of all) {
          expect(sharers.before(one).map(keyText).sort()).toEqual(fresh.before(one).map(keyText).sort());
          for (const other of sharers.of(one))
            expect(sharers.before(one).includes(other)).toBe(!sharers.before(other).includes(one));
        }
      }),
    );
  });

  it('are a name with a dot and a name with a namespace: of the hashed form one has it', () => {
    const [dotted, placed] = [
      service('MeshService', 'a.b', { zone: 'east', age: 1 }),
      service('MeshService', 'a', { zone: 'east', namespace: 'b' }),
    ];
    const sharers = fill([dotted, placed]);
    expect([sharers.before(dotted), sharers.before(placed)]).toEqual([[placed], []]);
    expect([sharers.hasHashed(dotted), sharers.hasHashed(placed)]).toEqual([false, true]);
  });

  it('may share the form of Kuma alone: then each has its hashed form', () => {
    const [dotted, placed] = [
      service('MeshService', 'a.b', { zone: 'east', age: 1 }),
      service('MeshService', 'b', { zone: 'east', namespace: 'a' }),
    ];
    const sharers = fill([dotted, placed]);
    expect(sharers.before(dotted)).toEqual([placed]);
    expect([sharers.hasHashed(dotted), sharers.hasHashed(placed)]).toEqual([true, true]);
  });

  it('are services alone', () => {
    expect(fill([makeRow('Dataplane', 'a')]).of(makeRow('Dataplane', 'b'))).toEqual([]);
  });
});
