// The receipts of what comes from a zone that is disabled and enabled again.
import { afterEach, expect, it } from 'vitest';
import { ReplicaQuestions } from '../replicas/replica-questions.ts';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { TinyStore } from '../../test/support/tiny-store.ts';
import { createLogger } from '../base/log.ts';
import { Changelog } from '../kds/log/changelog.ts';
import { globalSendRules } from '../kds/protocol/rules.ts';
import { ANY_ZONE, type ZoneProfile } from '../resource/zone-profile.ts';
import { Receipts } from './receipts.ts';

const KEY = { type: 'MeshService', mesh: 'shop', name: 'web' };
const log = createLogger('silent');
const stop = new AbortController();
afterEach(() => stop.abort());

it('a change of a disabled zone is acknowledged by the answer after the zone was enabled', async () => {
  const clock = new ManualClock();
  const store = new TinyStore(() => clock.now()).withZones('east', 'west');
  const changelog = new Changelog(store, globalSendRules(), log);
  void changelog.run(stop.signal);
  const questions = new ReplicaQuestions({ store, instanceId: 'one', clock, log });
  const receipts = new Receipts({ mode: 'global', store, questions, instanceId: 'one', clock });
  await changelog.ready;
  let west: ZoneProfile = { ...ANY_ZONE, isEnabled: false };
  receipts.serve(changelog, { names: () => ['east'], profileOf: (zone) => (zone === 'west' ? west : ANY_ZONE) });
  const about = { peer: 'east', streamId: 's1' };
  receipts.observe({ kind: 'opened', ...about, stream: 'globalToZone', authorized: true });
  const owner = { type: 'Zone', mesh: '', name: 'west' };
  const labels = { 'kuma.io/origin': 'zone', 'kuma.io/zone': 'west' };
  await store.write({ op: 'create', key: KEY, labels, spec: {}, owner });
  await changelog.caughtUp();
  const state = async (): Promise<unknown> =>
    (await receipts.follow(KEY, { version: null, waitMs: 0 }, stop.signal)).targets[0]?.state;
  const position = (): number => changelog.logOf(KEY.type)?.position ?? 0;
  receipts.observe({ kind: 'passed', ...about, type: KEY.type, position: position() });
  expect(await state()).toBe('hidden');
  const before = west;
  west = ANY_ZONE;
  changelog.touchZone({ zone: 'west', before, after: west });
  expect(await state()).toBe('pending');
  const answered = { ...about, type: KEY.type, position: position() };
  receipts.observe({ kind: 'sent', ...answered, resources: 1, removed: 0, bytes: 1 });
  expect(await state()).toBe('sent');
  receipts.observe({ kind: 'acknowledged', ...answered, seconds: 0 });
  expect(await state()).toBe('acknowledged');
});
