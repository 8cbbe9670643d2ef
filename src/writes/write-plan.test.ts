// From a draft and the stored row to the write, without a server.
import { describe, expect, it } from 'vitest';
import { makeRow } from '../../test/support/make-row.ts';
import type { ControlPlaneIdentity } from '../resource/compute-labels.ts';
import { hashName } from '../resource/hash-name.ts';
import { typeOf } from '../resource/type-registry.ts';
import type { JsonObject, Labels, Resource } from '../resource/types.ts';
import type { ApiError } from '../http/error-body.ts';
import { draftOf, type ContentWrite, type WriteRules } from './write-checks.ts';
import type { EntityTag } from '../http/entity-tag.ts';
import { isSquatter, planWrite, requireMatch, requireOwn, resultOf, type Precondition } from './write-plan.ts';

const GLOBAL: ControlPlaneIdentity = { mode: 'global', zone: null, federated: false };
const FEDERATED: ControlPlaneIdentity = { mode: 'zone', zone: 'east', federated: true };
const ALONE: ControlPlaneIdentity = { mode: 'zone', zone: 'east', federated: false };
const rulesOf = (writer: ControlPlaneIdentity, checksOrigin = true): WriteRules => ({ writer, checksOrigin });

const ofGlobal = { 'kuma.io/origin': 'global' };
const ofZone = { 'kuma.io/origin': 'zone', 'kuma.io/zone': 'east' };

const TIMEOUT = { to: [{ targetRef: { kind: 'Mesh' }, default: { connectionTimeout: '1s' } }] };

type Given = { readonly type?: string; readonly name?: string; readonly labels?: Labels; readonly spec?: JsonObject };

function plan(writer: ControlPlaneIdentity, stored: Resource | undefined, given: Given = {}): ContentWrite {
  const { type = 'MeshTimeout', name = 'a', labels = {}, spec = TIMEOUT } = given;
  const info = typeOf(type);
  const body = { type, name, mesh: 'default', labels, ...(info.codec.kind === 'json' ? { spec } : spec) };
  const rules = rulesOf(writer);
  return planWrite(draftOf(info, { mesh: 'default', name }, body, rules, { strict: true }), stored, rules);
}

function refusalOf(run: () => void): { title: string; fields: string[]; reason: string } | null {
  try {
    run();
    return null;
  } catch (error) {
    const { title, violations, message } = error as ApiError;
    return { title, fields: violations.map(({ field }) => field), reason: message };
  }
}

describe('a write', () => {
  it('creates a missing row with its owner, and updates the stored version', () => {
    expect(plan(ALONE, undefined)).toMatchObject({
      op: 'create',
      status: {},
      owner: { type: 'Mesh', mesh: '', name: 'default' },
    });
    const stored = makeRow('MeshTimeout', 'a', { labels: ofZone, version: 4 });
    expect(plan(ALONE, stored)).toMatchObject({ op: 'update', expectVersion: 4 });
  });

  it('keeps the computed fields of a stored service, and accepts a first value', () => {
    const stored = makeRow('MeshService', 'a', { labels: ofZone, spec: { state: 'Available', ports: [{ port: 81 }] } });
    const spec = { state: 'Unavailable', identities: [{ type: 'ServiceTag', value: 'b' }], ports: [{ port: 80 }] };
    const write = plan(ALONE, stored, { type: 'MeshService', spec });
    expect(write.spec).toMatchObject({ state: 'Available', identities: spec.identities, ports: [{ port: 80 }] });
    const { spec: _, ...withoutSpec } = stored;
    const info = typeOf('MeshService');
    const rules = rulesOf(ALONE);
    const body = { type: 'MeshService', name: 'a', mesh: 'default', spec };
    const draft = draftOf(info, { mesh: 'default', name: 'a' }, body, rules, { strict: true });
    expect(() => planWrite(draft, withoutSpec, rules)).toThrow('is needed to keep its computed fields');
  });

  it.each<[string, string | undefined, boolean]>([
    ['a label', 'cart', true],
    ['no label', undefined, true],
    ['a label that is no name', 'cart.one', false],
    ['a label that begins with a digit', '1cart', false],
  ])('accepts or refuses a Dataplane of a zone with %s of its workload', (_, workload, isGood) => {
    const labels: Labels = workload === undefined ? {} : { 'kuma.io/workload': workload };
    const spec = { networking: { address: '10.0.0.1', inbound: [{ port: 80, tags: { 'kuma.io/service': 'a' } }] } };
    expect(refusalOf(() => plan(ALONE, undefined, { type: 'Dataplane', labels, spec })) === null).toBe(isGood);
  });

  it('names the create or the update in the title of its error', () => {
    const spec = { ports: [{ port: 80 }] };
    const given = { type: 'MeshService', name: '1a', spec };
    expect(refusalOf(() => plan(ALONE, undefined, given))?.title).toBe('Failed to create a resource');
    const stored = makeRow('MeshService', '1a', { labels: ofZone });
    expect(refusalOf(() => plan(ALONE, stored, given))?.title).toBe('Failed to update a resource');
  });

  it('does not replace a row of another namespace that has the same stored name', () => {
    const stored = makeRow('MeshTimeout', 'a', { labels: { ...ofZone, 'k8s.kuma.io/namespace': 'shop' } });
    expect(refusalOf(() => plan(ALONE, stored))).toEqual({
      ...{ title: 'Could not process a resource', fields: ['name'] },
      reason: 'name: the stored name "a" is taken by "a" of namespace "shop" (label k8s.kuma.io/namespace); give another name',
    });
    const plain = makeRow('MeshTimeout', 'a.shop', { labels: ofZone });
    const inShop = { name: 'a.shop', labels: { 'k8s.kuma.io/namespace': 'shop', 'kuma.io/display-name': 'a' } };
    expect(refusalOf(() => plan(ALONE, plain, { ...inShop, name: 'a' }))?.reason).toBe(
      'name: the stored name "a.shop" is taken by a resource without a namespace; give another name',
    );
    const named = makeRow('MeshTimeout', 'a.shop', { labels: { ...ofZone, 'k8s.kuma.io/namespace': 'shop' } });
    const labels = { 'k8s.kuma.io/namespace': 'shop' };
    expect(plan(ALONE, named, { labels }).key.name).toBe('a.shop');
    const unnamed = makeRow('MeshTimeout', 'a', { labels: { ...ofZone, 'k8s.kuma.io/namespace': '' } });
    expect(plan(ALONE, unnamed).key.name).toBe('a');
  });
});

describe('a stored row', () => {
  const row = (labels: Labels, name = 'a'): Resource => makeRow('MeshTimeout', name, { labels });
  const info = typeOf('MeshTimeout');

  it.each<[string, ControlPlaneIdentity, Labels, boolean, boolean]>([
    ['a zone with a global, its own row', FEDERATED, ofZone, true, true],
    ['a zone with a global, a copy from global', FEDERATED, ofGlobal, true, false],
    ['such a zone that checks no origin', FEDERATED, ofGlobal, false, true],
    ['a zone without a global, any row', ALONE, ofGlobal, true, true],
    ['global, its own row', GLOBAL, ofGlobal, true, true],
    ['global that checks no origin, a copy from a zone', GLOBAL, ofZone, false, true],
  ])('is changed by its owner only: %s', (_, writer, labels, checksOrigin, isAllowed) => {
    for (const verb of ['update', 'delete'] as const)
      expect(refusalOf(() => requireOwn(info, row(labels), verb, rulesOf(writer, checksOrigin))) === null).toBe(isAllowed);
  });

  it('that is a copy is refused with its origin', () => {
    const refusal = refusalOf(() => requireOwn(info, row(ofGlobal), 'delete', rulesOf(FEDERATED)));
    expect(refusal).toMatchObject({ title: 'Could not delete a resource', fields: ['["kuma.io/origin"]'] });
    expect(refusal?.reason).toContain('a copy of a resource of global: delete it there');
    const ofWest = row(
      { 'kuma.io/origin': 'zone', 'kuma.io/zone': 'west', 'kuma.io/display-name': 'a' },
      hashName({ mesh: 'default', name: 'a', zone: 'west' }),
    );
    expect(refusalOf(() => requireOwn(info, ofWest, 'update', rulesOf(GLOBAL)))?.reason).toContain(
      'a copy of a resource of zone west: update it there',
    );
    const update = refusalOf(() => requireOwn(info, row(ofGlobal), 'update', rulesOf(FEDERATED)));
    expect(update).toMatchObject({ title: 'Could not process a resource', fields: ['labels["kuma.io/origin"]'] });
  });

  it('of a zone with a name that no zone may use may be deleted on global', () => {
    const squatter = row(ofZone, 'a');
    expect(isSquatter(info, squatter, rulesOf(GLOBAL))).toBe(true);
    expect(isSquatter(info, squatter, rulesOf(FEDERATED))).toBe(false);
    expect(isSquatter(info, row(ofGlobal), rulesOf(GLOBAL))).toBe(false);
    expect(refusalOf(() => requireOwn(info, squatter, 'delete', rulesOf(GLOBAL)))).toBeNull();
    expect(refusalOf(() => requireOwn(info, squatter, 'update', rulesOf(GLOBAL)))).toEqual({
      ...{ title: 'Could not process a resource', fields: ['name'] },
      reason: 'zone east has a resource under this name, which no zone may take: delete it first',
    });
  });

  const tag = (version: number, created: number | null = null): EntityTag => ({ version, created });
  it.each<[string, Precondition, number | undefined, boolean]>([
    ['no version', null, undefined, true],
    ['no version, of a row that is there', null, 3, true],
    ['any version', 'any', 3, true],
    ['any version, of a row that is not there', 'any', undefined, false],
    ['its version', [tag(2), tag(3)], 3, true],
    ['another version', [tag(2)], 3, false],
    ['its version and time of creation', [tag(3, 1), tag(3, 5)], 3, true],
    ['its version, of a row that was created at another time', [tag(3, 1)], 3, false],
    ['a version, of a row that is not there', [tag(3)], undefined, false],
  ])('matches the precondition %s, or is a conflict', (_, wanted, version, isGood) => {
    const stored = version === undefined ? undefined : { version, creationTime: new Date(5) };
    const key = { type: 'MeshTimeout', mesh: 'default', name: 'a' };
    expect(refusalOf(() => requireMatch(key, stored, wanted))?.title ?? null).toBe(isGood ? null : 'Conflict');
  });

  it('gives its times, status and version to the result of a write; a new row has none', () => {
    const stored = makeRow('MeshTimeout', 'a', { version: 3, status: { b: 1 }, creationTime: new Date(5), spec: { old: true } });
    const write: ContentWrite = {
      ...{ op: 'create', key: { type: 'MeshTimeout', mesh: 'default', name: 'a' }, labels: { c: 'd' }, spec: { e: 1 } },
      ...{ status: {}, owner: null },
    };
    expect(resultOf(write, stored)).toEqual({ ...stored, labels: { c: 'd' }, spec: { e: 1 } });
    expect(resultOf(write, undefined)).toEqual(makeRow('MeshTimeout', 'a', { labels: { c: 'd' }, spec: { e: 1 } }));
  });
});
