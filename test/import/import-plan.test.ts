// The import of a real Kubernetes global of Kuma 2.14: what is stored, left out, converted and lost, and what its zones see.
import { describe, expect, it } from 'vitest';
import { importPlan, type ImportPlan } from '../../src/import/import-plan.ts';
import { hashNameOf } from '../../src/resource/hash-name.ts';
import { displayNameOf } from '../../src/resource/labels.ts';
import { typeOf } from '../../src/resource/type-registry.ts';
import { keyText, type JsonObject } from '../../src/resource/types.ts';
import { readDump } from '../../src/takeover/read-dump.ts';
import { readFileSync } from 'node:fs';
import { DUMP_FILES, dumpedObjects, WEST } from './kubernetes-global.ts';

const objects = dumpedObjects();
const plan = importPlan(objects, { accept: [], kinds: WEST });

function rowOf({ rows }: ImportPlan, type: string, name: string): ImportPlan['rows'][number] {
  const row = rows.find((one) => one.type === type && displayNameOf(one) === name);
  if (row === undefined) throw new Error(`the plan has no ${type} ${name}`);
  return row;
}

function told(items: readonly { readonly type: string; readonly mesh: string; readonly name: string }[]): string[] {
  return items.map(({ type, mesh, name }) => [type, mesh, name.slice(0, 60)].filter((part) => part !== '').join('/'));
}

describe('the rows to store', () => {
  it('keep the name that they have on the wire', () => {
    const dumped = DUMP_FILES.flatMap((file) => readDump(file, readFileSync(file, 'utf8')));
    const before = new Map(dumped.map((row) => [keyText({ ...row, name: displayNameOf(row) }), row]));
    const kept = plan.rows.flatMap((row) => before.get(keyText({ ...row, name: displayNameOf(row) })) ?? []);
    expect(kept).toHaveLength(plan.rows.length - 3);
    for (const old of kept) {
      const row = rowOf(plan, old.type, displayNameOf(old));
      if (typeOf(row.type).kds.skipHash) expect(row.name).toBe(old.name);
      else if (row.mesh === old.mesh) expect(hashNameOf(row)).toBe(hashNameOf(old));
    }
  });

  it('have the namespace in the stored name, and a name that fits the table', () => {
    expect(rowOf(plan, 'HostnameGenerator', 'hg')).toMatchObject({
      name: 'hg.kuma-system',
      labels: { 'kuma.io/display-name': 'hg', 'k8s.kuma.io/namespace': 'kuma-system' },
    });
    const long = plan.rows.find((row) => displayNameOf(row).length === 253);
    expect(long?.name).toHaveLength(253);
  });

  it('are those that the global wrote, with its zones, keys, tokens and id', () => {
    const ofType = (type: string): string[] => told(plan.rows.filter((row) => row.type === type));
    expect(ofType('Zone')).toEqual(['Zone/east', 'Zone/west']);
    expect(rowOf(plan, 'Zone', 'east').spec).toEqual({ enabled: true });
    expect(ofType('GlobalSecret')).toEqual([
      'GlobalSecret/admin-user-token',
      'GlobalSecret/gsec',
      'GlobalSecret/user-token-signing-key-1',
      'GlobalSecret/zone-token-signing-key-1',
    ]);
    expect(ofType('Secret')).toEqual([
      'Secret/default/dataplane-token-signing-key-default-1',
      'Secret/m2/dataplane-token-signing-key-m2-1',
      'Secret/m3/dataplane-token-signing-key-m3-1',
      'Secret/m3/m3.ca-builtin-cert-ca-1',
      'Secret/m3/m3.ca-builtin-key-ca-1',
      'Secret/default/sec',
      'Secret/m2/sec2',
    ]);
    expect(rowOf(plan, 'Config', 'kuma-cluster-id').spec).toEqual({ config: 'aebdd2dc-f5be-41e1-8e26-fe2c299385a2' });
    expect(plan.rows.slice(0, 3).map(({ type }) => type)).toEqual(['Mesh', 'Mesh', 'Mesh']);
  });
});

it('leaves out by rule, and names each object', () => {
  const reasons = new Map<string, number>();
  for (const { reason } of plan.leftOut) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  expect(Object.fromEntries(reasons)).toEqual({
    'it is a copy of a zone, which sends it again': 24,
    'control planes compute it': 2,
    'it belongs to the old control plane, and Meridian makes its own': 1,
    'it is no resource of Kuma': 2,
    'Meridian has no such type': 3,
    'it is for built-in gateways, which Meridian does not have': 1,
    'the mesh has no built-in gateway': 1,
  });
});

it('converts what keeps its meaning', () => {
  expect(plan.converted.map(({ name, field, what }) => `${name.slice(0, 40)} ${field}: ${what}`)).toEqual([
    'from spec.from: rules',
    'llllllllllllllllllllllllllllllllllllllll name: stored under its name on the wire: with the namespace it is too long',
    'mesh-timeout-all-default spec.from: rules of a policy of its own, mesh-timeout-all-default-inbound',
    'mesh-timeout-all-default-inbound : made of MeshTimeout mesh-timeout-all-default',
    'mesh-timeout-all-m3 spec.targetRef.proxyTypes: left out: it names every proxy',
    'mesh-timeout-all-m3 spec.from: rules of a policy of its own, mesh-timeout-all-m3-inbound',
    'mesh-timeout-all-m3-inbound : made of MeshTimeout mesh-timeout-all-m3',
  ]);
  expect(rowOf(plan, 'MeshTimeout', 'from').spec).toEqual({
    targetRef: { kind: 'Mesh' },
    rules: [{ default: { idleTimeout: '44s' } }],
  });
});

describe('the losses', () => {
  const kinds = plan.losses.map(({ kind }) => kind);

  it('are what has no form here, each with a remedy', () => {
    expect([...new Set(kinds)]).toEqual([
      'ExternalService',
      'Mesh.meshServices',
      'Mesh.mtls',
      'Mesh.routing',
      'MeshExternalService.tls.verification.caCert',
      'MeshGateway',
      'MeshTimeout.targetRef.proxyTypes',
      'TrafficPermission',
    ]);
    expect(plan.losses.filter(({ remedy }) => remedy === '')).toEqual([]);
  });

  it('are none when each is accepted by name, and the keys that nothing reads are not stored', () => {
    const accepted = importPlan(objects, { accept: kinds, kinds: WEST });
    expect(accepted.losses).toEqual([]);
    expect(rowOf(accepted, 'Mesh', 'm3').spec).toEqual({});
    expect(rowOf(accepted, 'MeshTimeout', 'to-by-name').spec['targetRef']).toEqual({ kind: 'Mesh' });
  });

  it('do not have a certificate that every zone reads with its type', () => {
    const newer = importPlan(objects, { accept: [], kinds: new Map([...WEST, ['east', 'meridian']]) });
    expect(newer.losses.map(({ kind }) => kind)).not.toContain('MeshExternalService.tls.verification.caCert');
    expect(rowOf(newer, 'MeshExternalService', 'mes-old-tls').spec['tls']).toMatchObject({
      verification: { caCert: { type: 'Secret', secretRef: { kind: 'Secret', name: 'sec' } } },
    });
  });
});

describe('what zones see', () => {
  it('is counted for each kind of zone, with a reason for each difference', () => {
    const numbers = plan.zones.map(({ kind, zones, unchanged, changed, removed, added }) => ({
      ...{ kind, zones, unchanged, changed: changed.length },
      ...{ removed: removed.length, added: added.length },
    }));
    expect(numbers).toEqual([
      { kind: '2.x', zones: ['east'], unchanged: 33, changed: 9, removed: 5, added: 2 },
      { kind: '3.x', zones: ['west'], unchanged: 36, changed: 5, removed: 2, added: 3 },
    ]);
    for (const { changed, removed, added } of plan.zones)
      expect([...changed, ...removed, ...added].filter(({ why }) => why === '')).toEqual([]);
  });

  it('is named by resource for a zone of Kuma 3', () => {
    const west = plan.zones.find(({ kind }) => kind === '3.x');
    expect(told(west?.changed ?? [])).toEqual([
      'MeshExternalService/default/mes-old-tls',
      'MeshHTTPRoute/default/route',
      'MeshMetric/default/mm',
      'MeshTimeout/default/to-by-name',
      'MeshTrafficPermission/default/mtp',
    ]);
    expect(west?.changed.find(({ name }) => name === 'to-by-name')?.why).toBe(
      'spec.to[0].targetRef.name, spec.to[0].targetRef.labels',
    );
  });
});

describe('a dump that cannot be imported', () => {
  const mesh = (name: string, spec: JsonObject = {}): JsonObject => ({
    ...{ apiVersion: 'kuma.io/v1alpha1', kind: 'Mesh', metadata: { name } },
    spec,
  });
  const clusterId: JsonObject = {
    ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'kuma-cluster-id' } },
    data: { config: 'one' },
  };
  const read = (...given: JsonObject[]): ImportPlan => importPlan(given, { accept: [], kinds: new Map() });

  it('has no id of the cluster', () => {
    expect(() => read(mesh('shop'))).toThrow(/the dump has no ConfigMap kuma-cluster-id.*kubectl get configmap/);
  });

  it('has two different objects for one row, and takes the same object twice', () => {
    const skips = mesh('shop', { skipCreatingInitialPolicies: ['*'] });
    expect(() => read(clusterId, mesh('shop'), skips)).toThrow('the dump has two different objects for Mesh  shop');
    expect(told(read(clusterId, skips, skips).rows)).toEqual(['Mesh/shop', 'Config/kuma-cluster-id']);
  });

  it.each([
    ['a policy without its Mesh', 'MeshTimeout.mesh', { kind: 'MeshTimeout', spec: { targetRef: { kind: 'Mesh' } } }],
    ['a Mesh that fits no message', 'Mesh.spec', { kind: 'Mesh', spec: { skipCreatingInitialPolicies: 3 } }],
    ['a policy whose section is no list', 'MeshTimeout.to', { kind: 'MeshTimeout', mesh: 'shop', spec: { to: {} } }],
  ])('has %s', (_, kind, object) => {
    const given = { apiVersion: 'kuma.io/v1alpha1', metadata: { name: 'one', namespace: 'kuma-system' }, ...object };
    const { losses, leftOut } = read(clusterId, mesh('shop'), given);
    expect(losses.map((loss) => loss.kind)).toEqual([kind]);
    expect(told(leftOut)).toHaveLength(1);
  });

  it.each<[string, JsonObject, string, JsonObject | null]>([
    [
      'a target of tags',
      { targetRef: { kind: 'MeshSubset', tags: { a: 'b' } }, to: [{ targetRef: { kind: 'Mesh' } }] },
      'MeshTimeout.targetRef.kind',
      null,
    ],
    [
      'clients of tags beside to',
      { from: [{ targetRef: { kind: 'MeshSubset', tags: {} } }], to: [{ targetRef: { kind: 'Mesh' } }] },
      'MeshTimeout.from',
      { to: [{ targetRef: { kind: 'Mesh' } }] },
    ],
    ['clients of tags alone', { from: [{ targetRef: { kind: 'MeshSubset', tags: {} } }] }, 'MeshTimeout.from', null],
  ])('has %s: the loss has a name, and what is stored when it is accepted has nothing else', (_, spec, kind, stored) => {
    const policy: JsonObject = {
      ...{ apiVersion: 'kuma.io/v1alpha1', kind: 'MeshTimeout', metadata: { name: 'one', namespace: 'kuma-system' } },
      ...{ mesh: 'shop', spec },
    };
    const given = [clusterId, mesh('shop'), policy];
    expect(read(...given).losses.map((loss) => loss.kind)).toEqual([kind]);
    const accepted = importPlan(given, { accept: [kind], kinds: new Map() });
    expect(accepted.losses).toEqual([]);
    expect(accepted.rows.filter(({ type }) => type === 'MeshTimeout').map((row) => row.spec)).toEqual(
      stored === null ? [] : [stored],
    );
  });
});
