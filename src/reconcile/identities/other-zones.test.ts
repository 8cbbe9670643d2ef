// The questions of zones to each other while one of them changes an authority, and their answers.
import { beforeEach, describe, expect, it } from 'vitest';
import { make } from '../../../test/policy/make-resource.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { TinyStore } from '../../../test/support/tiny-store.ts';
import { trustOf } from '../../../test/xds/crossing-mesh.ts';
import { bundleId } from '../../identity/authority-id.ts';
import { trustBundles } from '../../identity/trust-bundles.ts';
import { label } from '../../resource/labels.ts';
import type { JsonObject, Labels, Resource } from '../../resource/types.ts';
import { answerOtherZones, askingLabels, haveOthersAccepted } from './other-zones.ts';
import type { MeshFacts } from './plan-rotation.ts';

const ORIGIN = { origin: { kri: 'kri_mid_default_east__id_' } };

/** The MeshTrust of the identity of a zone. */
function trust(zone: string, labels: Labels = {}, status: JsonObject = ORIGIN): Resource {
  const row = trustOf(zone);
  return { ...row, labels: { ...row.labels, [label.zone]: zone, [label.origin]: 'zone', ...labels }, status };
}

const acceptedBy = (trusts: readonly Resource[]): string =>
  Buffer.from(bundleId(trustBundles(trusts)), 'base64url').toString('hex');
const ALL = acceptedBy(['east', 'west', 'north'].map((zone) => trust(zone)));

it('the labels of a MeshTrust ask while its authority changes, and no longer after it', () => {
  const asking = askingLabels({ team: 'a' }, true);
  expect(asking).toEqual({ team: 'a', [label.authorityChanges]: 'true' });
  expect(askingLabels(asking, false)).toEqual({ team: 'a' });
});

describe('other zones have accepted the MeshTrusts', () => {
  const says = (accepted: string): Labels => ({ [label.acceptedTrust]: accepted });
  it.each<[when: string, west: Labels, north: Labels, accepted: boolean]>([
    ['when all of them say so', says(ALL), says(ALL), true],
    ['not while one says nothing', says(ALL), {}, false],
    ['not while one has accepted earlier ones', says(ALL), says('before'), false],
  ])('%s', (_, west, north, accepted) => {
    expect(haveOthersAccepted([trust('east'), trust('west', west), trust('north', north)], 'east')).toBe(accepted);
  });

  it('when one of the MeshTrusts of a zone says so', () => {
    const west = [trust('west'), { ...trust('west', says(ALL)), name: 'second' }];
    expect(haveOthersAccepted([trust('east'), ...west, trust('north', says(ALL))], 'east')).toBe(true);
  });

  it('where there is no other zone', () => {
    expect(haveOthersAccepted([trust('east')], 'east')).toBe(true);
    expect(haveOthersAccepted([], 'east')).toBe(true);
  });

  it('never beside a MeshTrust that a person copied to this zone', () => {
    const copied = { ...trust('east', says(ALL), {}), name: 'copied' };
    expect(haveOthersAccepted([trust('east'), copied], 'east')).toBe(false);
  });
});

describe('a zone that is asked', () => {
  let store: TinyStore;
  let clock: ManualClock;
  let read: string[];
  beforeEach(() => {
    store = new TinyStore();
    clock = new ManualClock();
    read = [];
  });

  const put = async ({ type, mesh, name, labels, spec, status }: Resource): Promise<void> => {
    await store.write({ op: 'put', key: { type, mesh, name }, labels, spec, status });
  };
  const answers = (insights: readonly Resource[] = [], dataplanes: readonly Resource[] = []) =>
    answerOtherZones({ store, zone: 'east', clock }, async (mesh): Promise<MeshFacts> => {
      read.push(mesh);
      const trusts = await store.list({ type: 'MeshTrust' });
      const identity = make('MeshIdentity', 'id', { selector: { dataplane: { matchLabels: {} } } }, { zone: 'east' });
      return { identities: [{ ...identity, status: {} }], trusts, dataplanes, insights };
    });
  const said = async (): Promise<unknown> =>
    (await store.get({ type: 'MeshTrust', mesh: 'default', name: trust('east').name }))?.labels[label.acceptedTrust];

  it('answers once with what its proxies have accepted', async () => {
    await put(trust('east'));
    await put(trust('west', askingLabels({}, true)));
    expect(await answers()).toEqual({ count: 0, wakeAts: [] });
    expect(await said()).toBe(acceptedBy([trust('east'), trust('west')]));
    read = [];
    expect(await answers()).toEqual({ count: 0, wakeAts: [] });
    expect(read).toEqual([]);
  });

  it.each<[what: string, rows: Resource[]]>([
    ['while no other zone asks', [trust('east'), trust('west')]],
    ['to its own question', [trust('east', askingLabels({}, true)), trust('west')]],
    ['for a MeshTrust that a person wrote', [trust('east', {}, {}), trust('west', askingLabels({}, true))]],
  ])('reads no proxies and says nothing %s', async (_, rows) => {
    for (const row of rows) await put(row);
    expect(await answers()).toEqual({ count: 0, wakeAts: [] });
    expect([read, await said()]).toEqual([[], undefined]);
  });
});
