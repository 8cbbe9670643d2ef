// The names of a proxy: from the hostnames and virtual addresses of its services.
import { describe, expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import type { Resource } from '../resource/types.ts';
import { placeName } from './listener-place.ts';
import { contestedNames, hostnamesOf, nameChanges, nameTable, type NamedOutbounds, type NameTable } from './name-table.ts';

function service(name: string, hostnames: readonly string[], more: Partial<Resource> = {}): Resource {
  return {
    ...{ type: 'MeshService', mesh: 'shop', name, labels: {}, spec: {}, version: 1, owner: null, syncVersion: null },
    ...{ creationTime: new Date(0), modificationTime: new Date(0) },
    status: { addresses: hostnames.map((hostname) => ({ hostname, origin: 'HostnameGenerator' })) },
    ...more,
  };
}

type Called = { readonly resource: Resource; readonly address: string; readonly port: number };

function outbound(resource: Resource, address: string, port = 80): Called {
  return { resource, address, port };
}

function places(...called: readonly Called[]): NamedOutbounds {
  return {
    byPlace: new Map(
      called.map(
        ({ resource, address, port }) =>
          [placeName(address, port), { outbound: { resource, base: `kri_${resource.name}_` }, address }] as const,
      ),
    ),
  };
}

const CATALOG = service('catalog', ['catalog.svc.mesh.local', 'catalog.example']);
const CART = service('cart', ['cart.svc.mesh.local']);

describe('the names of a proxy', () => {
  it('are the hostnames of its services, with the listeners of all ports', () => {
    const table = nameTable(
      places(outbound(CATALOG, '241.0.0.1', 9000), outbound(CATALOG, '241.0.0.1'), outbound(CART, 'fd00::2')),
    );
    const catalog = { addresses: ['241.0.0.1'], places: ['241.0.0.1:80', '241.0.0.1:9000'] };
    expect([...table.values()]).toEqual([
      { hostname: 'catalog.svc.mesh.local', ...catalog },
      { hostname: 'catalog.example', ...catalog },
      { hostname: 'cart.svc.mesh.local', addresses: ['fd00::2'], places: ['[fd00::2]:80'] },
    ]);
  });

  it('are in lower case, without a dot at their end, and each is there once', () => {
    expect(hostnamesOf(service('a', ['A.Example.', 'a.example', '']))).toEqual(['a.example']);
  });

  it('are one table for one list of outbounds', () => {
    const outbounds = places(outbound(CART, '241.0.0.2'));
    expect(nameTable(outbounds)).toBe(nameTable(outbounds));
  });

  it.each<[string, Resource, Resource]>([
    ['the older service', service('b', ['x.example']), service('a', ['x.example'], { creationTime: new Date(1) })],
    ['the first type', service('b', ['x.example']), service('a', ['x.example'], { type: 'MeshMultiZoneService' })],
    ['the first name', service('a', ['x.example']), service('b', ['x.example'])],
  ])('that two services have lead to %s, in either order', (_, holder, other) => {
    const both = [outbound(holder, '241.0.0.1'), outbound(other, '241.0.0.2')];
    for (const outbounds of [both, both.toReversed()])
      expect(nameTable(places(...outbounds)).get('x.example')?.addresses).toEqual(['241.0.0.1']);
    const [problem, ...others] = contestedNames(places(...both));
    expect(problem?.reason).toBe(
      `x.example is a name of kri_${holder.name}_, and does not lead to kri_${other.name}_, which has it too`,
    );
    expect(others).toEqual([]);
  });
});

describe('the difference of two tables', () => {
  const addresses = fc.constantFrom('241.0.0.1', '241.0.0.2');
  const tables = fc
    .array(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), addresses, fc.constantFrom(80, 90)))
    .map((parts) => nameTable(places(...parts.map(([name, address, port]) => outbound(service(name, [name]), address, port)))));

  it('leads from one to the other, and names nothing that is equal', () => {
    fc.assert(
      fc.property(tables, tables, (before, after) => {
        const { put, removed } = nameChanges(before, after);
        const made = new Map(before);
        for (const hostname of removed) made.delete(hostname);
        for (const name of put) made.set(name.hostname, name);
        expect(content(made)).toEqual(content(after));
        for (const name of put) expect(before.get(name.hostname)).not.toEqual(name);
      }),
    );
  });

  it('is one object for one pair of tables', () => {
    const [before, after] = [nameTable(places()), nameTable(places(outbound(CART, '241.0.0.2')))];
    expect(nameChanges(before, after)).toBe(nameChanges(before, after));
  });

  function content(table: NameTable): [string, unknown][] {
    return [...table].sort(([a], [b]) => (a < b ? -1 : 1));
  }
});
