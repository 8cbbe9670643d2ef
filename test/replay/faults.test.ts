// Two faults of Kuma control planes: a status update that loses labels, and its consequence, an echo: a synced policy that is sent back
// under a doubly hashed name. Invariants: Meridian does neither, and a peer that does both cannot change resources of others.
import { fc } from '../support/property.ts';
import { afterEach, describe, expect, it } from 'vitest';
import type { WireResource } from '../../src/resource/codec.ts';
import { label } from '../../src/resource/labels.ts';
import type { JsonObject, Labels, Resource, ResourceKey } from '../../src/resource/types.ts';
import { answerTo, firstState, frameOf, lastOf, mustGet, zoneKey } from './fault-scene.ts';
import { historyOf, type History } from './history.ts';
import { resourcesOf, responseAt, responses, type Side } from './recording.ts';
import { ReplayedPlane } from './replayed-plane.ts';
import type { Row } from './start-state.ts';

/** Before these lines: both zones have joined; zone-1 has its MeshService; it loses labels. */
const JOINED = 298;
const HAS_SERVICE = 304;
const LOSSY = 305;

const SERVICE: ResourceKey = { type: 'MeshService', mesh: 'default', name: 'backend' };
const SERVICE_COPY: ResourceKey = { ...SERVICE, name: 'backend-d8466458x7574b7b' };
const POLICY: ResourceKey = { type: 'MeshTimeout', mesh: 'default', name: 'slow' };
const POLICY_COPY: ResourceKey = { ...POLICY, name: 'slow-zfbd2dz67fv2658c' };
const POLICY_SPEC: JsonObject = {
  targetRef: { kind: 'Mesh' },
  to: [{ targetRef: { kind: 'Mesh' }, default: { http: { requestTimeout: '2s' } } }],
};
/** The copy in zone-1 after its labels were lost there: its name was hashed once more, with the zone. */
const ECHO = {
  name: 'slow-zfbd2dz67fv2658c-56wx2d5b89775ww4',
  mesh: 'default',
  labels: { 'kuma.io/display-name': 'slow-zfbd2dz67fv2658c', 'kuma.io/origin': 'zone', 'kuma.io/zone': 'zone-1' },
  spec: POLICY_SPEC,
  status: undefined,
};

const started: ReplayedPlane[] = [];
afterEach(async () => {
  for (const plane of started.splice(0)) await plane.close();
});

describe('a status update', () => {
  it('of a Meridian zone is sent to global with all labels, for any change', async () => {
    const plane = await playedTo('zone-1', HAS_SERVICE);
    const [first] = resourcesOf(responseAt(303).response);
    const states = fc.record({
      state: fc.constantFrom('Available', 'Unavailable'),
      status: fc.record({ healthy: fc.nat(9), total: fc.nat(9) }).map((dataplaneProxies) => ({ dataplaneProxies, tls: {} })),
    });
    await fc.assert(
      fc.asyncProperty(states, async ({ state, status }) => {
        const row = await mustGet(plane, SERVICE);
        await plane.store.write({
          ...{ op: 'update', key: SERVICE, labels: row.labels, spec: { ...row.spec, state }, status },
          expectVersion: row.version,
        });
        await plane.settle();
        const sent = historyOf(plane.sentTo('zone-1'))['MeshService']?.['backend-d8466458x7574b7b.default']?.at(-1);
        expect(sent).toMatchObject({ labels: first?.labels, spec: { ...row.spec, state }, status });
      }),
      { numRuns: 50 },
    );
    expect(first?.labels).toMatchObject({ [label.env]: 'universal', [label.mesh]: 'default' });
  });

  it('without its labels is stored as a row of the sender, and is sent to the other zones only', async () => {
    const plane = await playedTo('global', HAS_SERVICE);
    await plane.feed(responseAt(LOSSY));
    await plane.settle();
    const [lossy] = resourcesOf(responseAt(LOSSY).response);
    const labels = { [label.displayName]: 'backend', [label.origin]: 'zone', [label.zone]: 'zone-1' };
    expect(lossy?.labels).toEqual(labels);
    const { spec, status } = lossy ?? {};
    expect(await plane.store.get(SERVICE_COPY)).toMatchObject({ labels, spec, status, owner: zoneKey('zone-1') });
    const { MeshService: toOther } = historyOf(plane.sentTo('zone-2'));
    expect(Object.keys(toOther ?? {})).toEqual(['backend-d8466458x7574b7b.default']);
    expect(Object.values(toOther ?? {})[0]?.at(-1)).toMatchObject({ labels: { ...labels, [label.origin]: 'global' }, spec });
    expect(historyOf(plane.sentTo('zone-1'))['MeshService']).toEqual({});
    expect(await firstState(plane, 'zone-1', 'GlobalToZoneSync', 'MeshService')).toEqual({ MeshService: {} });
  });

  it.each<[string, Labels]>([
    ['every label', {}],
    ['its origin to global', { [label.displayName]: 'backend', [label.origin]: 'global' }],
    ['its zone to another', { [label.displayName]: 'backend', [label.origin]: 'zone', [label.zone]: 'zone-2' }],
  ])('without %s belongs to the zone of its stream', async (_what, labels) => {
    const plane = await playedTo('global', HAS_SERVICE);
    const [lossy] = resourcesOf(responseAt(LOSSY).response);
    if (lossy === undefined) throw new Error('the recording has no such frame');
    await plane.hear('zone-1', frameOf('MeshService', [{ ...lossy, labels }]));
    await plane.settle();
    const attribution = { [label.origin]: 'zone', [label.zone]: 'zone-1' };
    const row = await plane.store.get(SERVICE_COPY);
    expect(row).toMatchObject({ spec: lossy.spec, owner: zoneKey('zone-1') });
    expect(row?.labels).toEqual({ ...labels, ...attribution });
    expect(historyOf(plane.sentTo('zone-1'))['MeshService']).toEqual({});
    expect(await firstState(plane, 'zone-1', 'GlobalToZoneSync', 'MeshService')).toEqual({ MeshService: {} });
  });
});

describe('an echo', () => {
  const anyLabels = fc.dictionary(
    fc.constantFrom(label.displayName, label.mesh, label.origin, label.zone, label.policyRole, label.kdsSync, 'team'),
    fc.constantFrom('zone', 'global', 'zone-1', 'slow', 'default', 'producer', 'system', 'enabled', ''),
  );

  it('is never sent by a Meridian zone, with any labels of the copy', async () => {
    const plane = await playedTo('zone-1', JOINED);
    const isSent = ({ type, syncVersion }: Resource): boolean => syncVersion !== null && ownOf(type) !== undefined;
    const copies = [...plane.store.rows.values()].filter(isSent);
    expect(copies).toHaveLength(19);
    // A trigger clears the version of a row on an edit, but not on a change of the status alone.
    const edits = fc.record({ copy: fc.constantFrom(...copies), labels: anyLabels, keepsVersion: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(edits, async ({ copy: { type, mesh, name, spec, syncVersion }, labels, keepsVersion }) => {
        const before = plane.sentTo('zone-1').length;
        const version = keepsVersion ? syncVersion : '';
        await plane.store.write({ op: 'put', key: { type, mesh, name }, labels, spec, syncVersion: version });
        await plane.settle();
        expect(plane.sentTo('zone-1')).toHaveLength(before);
        expect(await firstState(plane, 'zone-1', 'ZoneToGlobalSync', type)).toEqual({ [type]: ownOf(type) });
        await plane.settle();
      }),
      { numRuns: 200 },
    );
  });

  it('ends with the next state from global, which restores the labels of the copy', async () => {
    const plane = await playedTo('zone-1', JOINED);
    const { labels, spec } = await mustGet(plane, POLICY_COPY);
    await plane.store.write({ op: 'put', key: POLICY_COPY, labels: {}, spec, syncVersion: '' });
    await plane.feed(responseAt(315));
    expect((await mustGet(plane, POLICY_COPY)).labels).toEqual(labels);
  });

  it('is not sent for a copy without a version but with an origin, as in a database of Kuma', async () => {
    const plane = await playedTo('zone-1', JOINED);
    const { labels, spec } = await mustGet(plane, POLICY_COPY);
    await plane.store.write({ op: 'put', key: POLICY_COPY, labels, spec: { ...spec, to: [] }, syncVersion: null });
    expect(await firstState(plane, 'zone-1', 'ZoneToGlobalSync', 'MeshTimeout')).toEqual({ MeshTimeout: {} });
  });

  it('equals the recorded frame when the copy has neither a version nor labels', async () => {
    const plane = await playedTo('zone-1', JOINED);
    await plane.store.write({ op: 'put', key: POLICY_COPY, labels: {}, spec: POLICY_SPEC, syncVersion: null });
    await plane.settle();
    expect(resourcesOf(lastOf(plane.sentTo('zone-1')))).toMatchObject([ECHO]);
  });

  it.each<[string, WireResource]>([
    ['under a doubly hashed name', ECHO],
    ['that passes for global’s', { ...ECHO, labels: { ...ECHO.labels, [label.origin]: 'global', [label.zone]: 'zone-2' } }],
  ])('%s is stored as a resource of its sender, and the policy of global stays', async (_what, echo) => {
    const { plane, unharmed } = await globalWithPolicy();
    await plane.hear('zone-1', frameOf('MeshTimeout', [echo]));
    expect(answerTo(plane, 'zone-1').errorDetail).toBeNull();
    const row = await mustGet(plane, { ...POLICY, name: echo.name });
    expect(row).toMatchObject({ owner: zoneKey('zone-1'), spec: POLICY_SPEC });
    expect(row.labels).toEqual({ ...echo.labels, [label.origin]: 'zone', [label.zone]: 'zone-1' });
    await unharmed();
    await plane.hear('zone-1', frameOf('MeshTimeout', [], [`${echo.name}.default`]));
    expect(await plane.store.get({ ...POLICY, name: echo.name })).toBeUndefined();
    await unharmed();
  });

  it.each<[string, Partial<WireResource>]>([
    ['under the very name of the policy on global', { name: 'slow' }],
    ['under the name of the copy', { name: POLICY_COPY.name, labels: { [label.displayName]: 'slow' } }],
    ['under a name that its labels do not give', { labels: {} }],
  ])('%s is refused', async (_what, fields) => {
    const { plane, unharmed } = await globalWithPolicy();
    const echo = { ...ECHO, ...fields };
    await plane.hear('zone-1', frameOf('MeshTimeout', [echo]));
    expect(answerTo(plane, 'zone-1').errorDetail?.message).toContain(`name="${echo.name}"`);
    await unharmed();
  });

  it('changes no row of global with the label of the zone, by its name or by a removal', async () => {
    const labels = { [label.displayName]: 'labelled', [label.origin]: 'global', [label.zone]: 'zone-1' };
    const labelled = { ...POLICY, name: 'labelled', labels, spec: POLICY_SPEC };
    const plane = await playedTo('global', JOINED, [labelled]);
    await plane.hear('zone-1', frameOf('MeshTimeout', [{ ...ECHO, name: 'labelled' }]));
    expect(answerTo(plane, 'zone-1').errorDetail?.message).toContain('name="labelled"');
    await plane.hear('zone-1', frameOf('MeshTimeout', [], ['labelled.default']));
    expect(await plane.store.get(labelled)).toMatchObject({ version: 0, labels, spec: POLICY_SPEC, syncVersion: null });
  });

  it('with the removal of a name that was never sent removes nothing', async () => {
    const { plane, unharmed } = await globalWithPolicy();
    await plane.hear('zone-1', frameOf('MeshTimeout', [], ['slow.default', 'slow-zfbd2dz67fv2658c.default']));
    expect(answerTo(plane, 'zone-1').errorDetail).toBeNull();
    await unharmed();
  });

  it('of a service of another zone under the name of that service is refused', async () => {
    const plane = await playedTo('global', HAS_SERVICE);
    const service = await mustGet(plane, SERVICE_COPY);
    const [sent] = resourcesOf(responseAt(307).response);
    if (sent === undefined) throw new Error('the recording has no such frame');
    await plane.hear('zone-2', frameOf('MeshService', [{ ...sent, labels: { ...sent.labels, [label.origin]: 'zone' } }]));
    expect(answerTo(plane, 'zone-2').errorDetail?.message).toContain(`name="${SERVICE_COPY.name}"`);
    expect(await plane.store.get(SERVICE_COPY)).toEqual(service);
    expect(historyOf(plane.sentTo('zone-1'))['MeshService']).toEqual({});
  });
});

async function playedTo(side: Side, to: number, more: readonly Row[] = []): Promise<ReplayedPlane> {
  const plane = await ReplayedPlane.start(side, more);
  started.push(plane);
  await plane.play({ to });
  await plane.settle();
  return plane;
}

/** `unharmed` fails if global's policy, or what either zone is sent of its type, has changed. */
async function globalWithPolicy(): Promise<{ plane: ReplayedPlane; unharmed: () => Promise<void> }> {
  const plane = await playedTo('global', JOINED);
  const look = async (): Promise<unknown> => ({
    policy: await mustGet(plane, POLICY),
    one: await firstState(plane, 'zone-1', 'GlobalToZoneSync', 'MeshTimeout'),
    two: await firstState(plane, 'zone-2', 'GlobalToZoneSync', 'MeshTimeout'),
  });
  const before = await look();
  const sent = { one: plane.sentTo('zone-1').length, two: plane.sentTo('zone-2').length };
  const unharmed = async (): Promise<void> => {
    await plane.settle();
    expect({ one: plane.sentTo('zone-1').length, two: plane.sentTo('zone-2').length }).toEqual(sent);
    expect(await look()).toEqual(before);
  };
  return { plane, unharmed };
}

/** The resources of a type that the recorded zone-1 sent when it joined. */
function ownOf(type: string): History[string] | undefined {
  const own = responses.filter(({ line, zone, from }) => line <= JOINED && zone === 'zone-1' && from === 'zone');
  return historyOf(own.map(({ response }) => response))[type];
}
