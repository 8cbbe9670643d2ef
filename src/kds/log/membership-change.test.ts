// These tests show how much the answer about a change of a Zone says, and in how many steps it is made.
import { expect, it } from 'vitest';
import { TinyStore } from '../../../test/support/tiny-store.ts';
import { runSteps } from '../../base/steps.ts';
import { ANY_ZONE, type ZoneProfile } from '../../resource/zone-profile.ts';
import { start } from './changelog.fixture.ts';
import type { Changelog } from './changelog.ts';
import { MAX_ROW_GROUPS, MAX_ROW_NAMES, membershipChange, type MembershipChange } from './membership-change.ts';
import type { Steps } from '../../base/steps.ts';

const EAST = { type: 'Zone', mesh: '', name: 'east' };
const NO_MESH: ZoneProfile = { ...ANY_ZONE, meshes: new Set() };

async function changelogWith(rows: readonly (readonly [type: string, mesh: string, name: string])[]): Promise<Changelog> {
  const store = new TinyStore().withZones('east', 'west');
  for (const [type, mesh, name] of rows) {
    const isOfEast = type === 'MeshService';
    const labels = isOfEast ? { 'kuma.io/origin': 'zone', 'kuma.io/zone': 'east', 'kuma.io/display-name': name } : {};
    await store.write({ op: 'create', key: { type, mesh, name }, labels, spec: {}, ...(isOfEast && { owner: EAST }) });
  }
  const changelog = start(store);
  await changelog.caughtUp();
  return changelog;
}

const leaving = (changelog: Changelog): Steps<MembershipChange> =>
  membershipChange(changelog, { zone: 'east', before: ANY_ZONE, after: NO_MESH }, { features: null, profileOf: () => ANY_ZONE });

it('lists the largest groups first, then by type and mesh, and names the first rows of each', async () => {
  const names = Array.from({ length: MAX_ROW_NAMES + 1 }, (_, n) => `n${String(n)}`);
  const changelog = await changelogWith([
    ...(['pay', 'shop'] as const).map((mesh) => ['Mesh', '', mesh] as const),
    ...['shop', 'pay'].map((mesh) => ['MeshTimeout', mesh, 'one'] as const),
    ['MeshRetry', 'shop', 'one'],
    ...names.map((name) => ['Secret', 'shop', name] as const),
    ...names.map((name) => ['MeshService', 'pay', name] as const),
  ]);
  const { loses, gets, othersLose, othersGet } = runSteps(leaving(changelog));
  expect(loses.groups.map(({ type, mesh, total }) => `${type} ${mesh} ${String(total)}`)).toEqual([
    ...[`Secret shop ${String(MAX_ROW_NAMES + 1)}`, 'Mesh  2', 'MeshRetry shop 1', 'MeshTimeout pay 1', 'MeshTimeout shop 1'],
  ]);
  expect(loses.groups[0]?.names).toEqual(names.slice(0, MAX_ROW_NAMES));
  expect([loses.total, gets, othersGet]).toEqual([MAX_ROW_NAMES + 6, { total: 0, groups: [] }, { total: 0, groups: [] }]);
  expect(othersLose).toMatchObject({ total: MAX_ROW_NAMES + 1, groups: [{ type: 'MeshService', mesh: 'pay' }] });
});

it('counts the groups that it does not list', async () => {
  const meshes = Array.from({ length: MAX_ROW_GROUPS + 2 }, (_, n) => `m${String(n).padStart(3, '0')}`);
  const rows = meshes.map((mesh) => ['MeshTimeout', mesh, 'one'] as const);
  const { loses } = runSteps(leaving(await changelogWith(rows)));
  expect([loses.total, loses.groups.length]).toEqual([MAX_ROW_GROUPS + 2, MAX_ROW_GROUPS]);
});

it('is made in a step for each thousand rows that are looked at', async () => {
  const rows = Array.from({ length: 1_000 }, (_, n) => ['MeshTimeout', 'shop', `t${String(n)}`] as const);
  const stepsOf = (changelog: Changelog): number => {
    const steps = leaving(changelog);
    let count = 0;
    while (steps.next().done !== true) count += 1;
    return count;
  };
  expect(stepsOf(await changelogWith(rows))).toBe(1);
  // The resources of the zone are looked at for the zone itself, and for the others.
  const ofEast = rows.slice(0, 500).map(([, mesh, name]) => ['MeshService', mesh, name] as const);
  expect(stepsOf(await changelogWith(ofEast))).toBe(1);
  expect(stepsOf(await changelogWith(ofEast.slice(1)))).toBe(0);
});
