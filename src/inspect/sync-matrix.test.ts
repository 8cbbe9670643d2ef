import { expect, it } from 'vitest';
import { globalSendRules } from '../kds/protocol/rules.ts';
import { label } from '../resource/labels.ts';
import { ANY_ZONE, profileOf } from '../resource/zone-profile.ts';
import { makeRow } from '../../test/support/make-row.ts';
import { explainOnGlobal, type KnownZone } from './explain-sync.ts';
import { matrixRow } from './sync-matrix.ts';

const online = { state: 'online', connection: 'online', since: null, pending: [], lagMs: 0, reason: '' } as const;
const has = { state: 'acknowledged', reason: null, since: new Date('2026-01-01') } as const;

function zone(name: string, live: Partial<KnownZone['live']> = {}): KnownZone {
  return { name, profile: ANY_ZONE, insight: {}, live: { sync: online, delivery: has, at: '', ...live } };
}

it('lets ten thousand zones share a few verdicts', () => {
  const zones = Array.from({ length: 10_000 }, (_, at) => {
    const name = `zone-${String(at)}`;
    const reason = `zone ${name} is not connected since yesterday`;
    if (at % 1_000 === 7) return zone(name, { sync: { ...online, state: 'offline', connection: 'offline', reason } });
    return zone(name, at === 5 ? { delivery: { state: 'refused', reason: 'no', since: null } } : {});
  });
  const labels = { [label.origin]: 'zone', [label.zone]: 'zone-3', [label.policyRole]: 'producer', [label.kdsSync]: 'enabled' };
  const row = makeRow('MeshService', 'cart-x', { mesh: 'default', labels, owner: { type: 'Zone', mesh: '', name: 'zone-3' } });
  const { verdicts, runs } = matrixRow(explainOnGlobal(globalSendRules(), row, zones));
  expect(verdicts.map(({ isSent, state, why }) => [isSent, state, why])).toEqual([
    [true, 'inSync', undefined],
    [false, undefined, undefined],
    [true, 'refused', 'no'],
    [true, 'away', undefined],
  ]);
  expect(runs.slice(0, 14)).toEqual([0, 3, 1, 1, 0, 1, 2, 1, 0, 1, 3, 1, 0, 999]);
  expect(runs.filter((_, at) => at % 2 === 1).reduce((sum, count) => sum + count, 0)).toBe(10_000);
});

it('lets all zones share a verdict that are no members of a mesh', () => {
  const profile = profileOf(makeRow('Zone', 'z', { spec: { meshes: ['pay'] } }));
  const zones = Array.from({ length: 1_000 }, (_, at) => ({ ...zone(`zone-${String(at)}`), ...(at > 9 && { profile }) }));
  const { verdicts, runs } = matrixRow(explainOnGlobal(globalSendRules(), makeRow('MeshTimeout', 't', { mesh: 'shop' }), zones));
  expect(verdicts.map(({ reason }) => reason)).toEqual(['written on global', 'the zone is not a member of mesh shop']);
  expect(runs).toEqual([0, 10, 1, 990]);
});
