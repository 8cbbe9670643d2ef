// Random histories: the incremental result equals the result of one pass over the same rows.
import { fc } from '../support/property.ts';
import { describe, expect, it } from 'vitest';
import { label } from '../../src/resource/labels.ts';
import type { JsonObject, Labels, Resource } from '../../src/resource/types.ts';
import { virtualAddress } from '../../src/resource/virtual-address.ts';
import { ModelZone, type ModelRow } from './model-zone.ts';

type Change =
  | { readonly do: 'put'; readonly row: ModelRow }
  | { readonly do: 'delete'; readonly row: ModelRow }
  | { readonly do: 'settle' }
  | { readonly do: 'restart' };

const mesh = fc.constantFrom('default', 'other');
const app = fc.constantFrom('a', 'b', 'c');
const age = fc.nat(3);
const appLabels = fc.record({ app, tier: fc.constantFrom('x', 'y') }, { requiredKeys: ['app'] }) as fc.Arbitrary<Labels>;
const placedLabels = fc
  .tuple(appLabels, fc.constantFrom<Labels>({}, {}, { [label.namespace]: 'shop' }))
  .map((parts): Labels => ({ ...parts[0], ...parts[1] }));
const origin = fc.constantFrom('zone', 'global');

// Members of one service always agree on ports: which of several lists stays depends on the history, as it should.
const inbound = app.map((service): JsonObject => ({ port: 80, name: 'http', tags: { 'kuma.io/service': service } }));
const networking = fc.record(
  {
    inbound: fc.oneof(
      fc.array(inbound, { maxLength: 1 }),
      fc.constantFrom<JsonObject[]>([{ port: 80, name: 'http' }], [{ port: 80, name: 'http', state: 'NotReady' }]),
    ),
    zoneIngress: fc.constantFrom('1.1.1.1', '2.2.2.2').map((advertisedAddress) => ({ advertisedAddress, advertisedPort: 443 })),
    zoneEgress: fc.constantFrom('3.3.3.3', '4.4.4.4').map((address) => ({ address, port: 444 })),
  },
  { requiredKeys: ['inbound'] },
);
const dataplane = fc
  .record({
    mesh,
    name: fc.constantFrom('d1', 'd2', 'd3', 'd4'),
    age,
    labels: placedLabels,
    networking,
    workload: fc.option(app),
  })
  .map(({ networking: spec, labels, workload, ...key }): ModelRow => {
    const all = workload === null ? labels : { ...labels, [label.workload]: workload };
    return { type: 'Dataplane', ...key, labels: all, spec: { networking: spec } };
  });
const insight = fc
  .record({ mesh, name: fc.constantFrom('d1', 'd2', 'd3', 'd4'), isOnline: fc.boolean() })
  .map(({ isOnline, ...key }): ModelRow => {
    const open = { connectTime: '2026-01-01T00:00:00Z' };
    const subscription = isOnline ? open : { ...open, disconnectTime: '2026-01-01T00:00:01Z' };
    return { type: 'DataplaneInsight', ...key, spec: { subscriptions: [subscription] } };
  });
const selector = fc.oneof(
  appLabels.map((matchLabels) => ({ dataplaneLabels: { matchLabels } })),
  fc.constant({ dataplaneLabels: {} }),
  app.map((service) => ({ dataplaneTags: { 'kuma.io/service': service } })),
  fc.constantFrom('d1', 'd1.shop').map((name) => ({ dataplaneRef: { name } })),
);
const service = fc
  .record({ mesh, name: fc.constantFrom('a', 's1', 's2', 's3', 's4'), age, labels: placedLabels, selector })
  .map(({ labels, selector: given, ...key }): ModelRow => {
    const isCopy = key.name > 's2';
    const all = { ...labels, [label.origin]: isCopy ? 'global' : 'zone', [label.displayName]: key.name.slice(0, 1) };
    const spec = { selector: given, ports: [{ port: 80 }] };
    return { type: 'MeshService', ...key, labels: all, spec, syncVersion: isCopy ? 'v1' : null };
  });
const external = fc
  .record({ mesh, name: fc.constantFrom('e1', 'e2'), age, labels: appLabels })
  .map((given): ModelRow => ({ type: 'MeshExternalService', ...given, spec: { match: { port: 443 } } }));
const multiZone = fc
  .record({ mesh, name: fc.constantFrom('m1', 'm2'), age, matchLabels: appLabels })
  .map(({ matchLabels, ...key }): ModelRow => {
    return { type: 'MeshMultiZoneService', ...key, syncVersion: 'v1', spec: { selector: { meshService: { matchLabels } } } };
  });
const generator = fc
  .record({
    name: fc.constantFrom('g1', 'g2'),
    age,
    origin,
    kind: fc.constantFrom('meshService', 'meshExternalService', 'meshMultiZoneService'),
    matchLabels: fc.option(appLabels),
    template: fc.constantFrom('{{ .DisplayName }}.local', 'one.local', '{{ label "tier" }}.local', '{{ .Zone }}.{{ .Mesh }}'),
  })
  .map(({ name, age: given, origin: from, kind, matchLabels, template }): ModelRow => {
    const spec = { selector: { [kind]: { matchLabels: { ...matchLabels } } }, template };
    return { type: 'HostnameGenerator', mesh: '', name, age: given, labels: { [label.origin]: from }, spec };
  });
const identity = fc
  .record({ mesh, name: fc.constantFrom('i1', 'i2'), matchLabels: fc.option(appLabels), isReady: fc.boolean() })
  .map(({ matchLabels, isReady, ...key }): ModelRow => {
    const spec = { selector: { dataplane: { matchLabels: { ...matchLabels } } }, spiffeID: { path: '/{{ label "tier" }}' } };
    const status = { conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }] };
    return { type: 'MeshIdentity', ...key, spec, status };
  });
const meshRow = mesh.map((name): ModelRow => ({ type: 'Mesh', mesh: '', name }));
const row = fc.oneof(
  { weight: 4, arbitrary: dataplane },
  { weight: 2, arbitrary: insight },
  { weight: 3, arbitrary: service },
  external,
  multiZone,
  identity,
  generator,
  meshRow,
);
const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 6, arbitrary: row.map((given): Change => ({ do: 'put', row: given })) },
  { weight: 3, arbitrary: row.map((given): Change => ({ do: 'delete', row: given })) },
  { weight: 3, arbitrary: fc.constant<Change>({ do: 'settle' }) },
  { weight: 1, arbitrary: fc.constant<Change>({ do: 'restart' }) },
);
const history = fc.array(change, { minLength: 1, maxLength: 60 });

describe('after a random history', () => {
  it('a new pass over the table writes nothing', () => {
    fc.assert(
      fc.property(history, (changes) => {
        const zone = play(changes);
        zone.restart();
        expect(zone.settle()).toBe(0);
      }),
      { numRuns: 300 },
    );
  });

  it('the services equal those of one pass over the rows of other writers', () => {
    fc.assert(
      fc.property(history, (changes) => {
        const zone = play(changes);
        const fresh = new ModelZone();
        // A generated service that waits for its end is there because of the past, and still holds its hostnames.
        for (const given of zone.rows.values()) if (!isGenerated(given) || isEnding(given)) fresh.put(asGiven(given));
        fresh.settle();
        expect(compared(fresh)).toEqual(compared(zone));
      }),
      { numRuns: 300 },
    );
  });

  it('each service of an existing mesh has an address of its own', () => {
    fc.assert(
      fc.property(history, (changes) => {
        const zone = play(changes);
        const services = [...zone.rows.values()].filter(({ type }) => /^Mesh(MultiZone|External)?Service$/.test(type));
        const vips = services.map(virtualAddress);
        const given = vips.filter((vip) => vip !== '');
        expect(new Set(given).size).toBe(given.length);
        const isThere = (name: string): boolean =>
          [...zone.rows.values()].some((one) => one.type === 'Mesh' && one.name === name);
        expect(services.filter((one) => virtualAddress(one) === '' && isThere(one.mesh))).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });
});

function play(changes: readonly Change[]): ModelZone {
  const zone = new ModelZone();
  zone.put({ type: 'Mesh', mesh: '', name: 'default' });
  for (const one of changes) {
    if (one.do === 'put' && !isTaken(zone, one.row)) zone.put(one.row);
    else if (one.do === 'delete') zone.delete(one.row);
    else if (one.do === 'settle') zone.settle();
    else if (one.do === 'restart') zone.restart();
  }
  zone.settle();
  return zone;
}

/** A service that the generator made is left to it, so that the history of a name does not matter. */
function isTaken(zone: ModelZone, { type, mesh: inMesh, name }: ModelRow): boolean {
  const found = zone.rows.get(JSON.stringify([type, inMesh, name]));
  return found !== undefined && isGenerated(found);
}

function isGenerated({ labels }: Pick<Resource, 'labels'>): boolean {
  return labels[label.managedBy] !== undefined;
}

function isEnding({ labels }: Pick<Resource, 'labels'>): boolean {
  return labels[label.deletionGracePeriodStartedAt] !== undefined;
}

/** The row as others wrote it: without what is computed. */
function asGiven({ type, mesh: inMesh, name, labels, spec, status, syncVersion, creationTime }: Resource): ModelRow {
  const { state: _, identities: __, zoneIngress: ___, ...written } = spec;
  const created = creationTime.getTime() - Date.parse('2026-01-01T00:00:00.000Z');
  const given = { type, mesh: inMesh, name, labels, spec: written, syncVersion, age: created };
  return type === 'MeshIdentity' ? { ...given, status } : given;
}

/** Everything but addresses of services and the rows of ingresses, which depend on who came first, in meshes that are there. */
function compared(zone: ModelZone): unknown[] {
  const rows = [...zone.rows.values()];
  const meshes = new Set(rows.filter(({ type }) => type === 'Mesh').map(({ name }) => name));
  return rows
    .filter((one) => meshes.has(one.mesh))
    .map(({ type, mesh: inMesh, name, labels, spec, status }) => {
      const { vip: _, vips: __, ...rest } = status;
      if (type === 'MeshZoneAddress') return { type, mesh: inMesh, name: '', spec };
      return { type, mesh: inMesh, name, labels, spec, status: rest };
    })
    .map((one) => [JSON.stringify([one.type, one.mesh, one.name, one.name === '' ? one.spec : null]), one] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
}
