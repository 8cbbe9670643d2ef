// The answers of explain-sync compared with the sender's log, for random rows and random `labels.skipPrefixes`.
import { expect, it } from 'vitest';
import { createLogger } from '../base/log.ts';
import { Changelog } from '../kds/log/changelog.ts';
import type { DeliveryNow } from '../kds/sender/delivery.ts';
import { globalSendRules, zoneSendRules, type SendRules } from '../kds/protocol/rules.ts';
import { label } from '../resource/labels.ts';
import type { Resource } from '../resource/types.ts';
import { makeRow } from '../../test/support/make-row.ts';
import { fc } from '../../test/support/property.ts';
import { TinyStore } from '../../test/support/tiny-store.ts';
import { explainInZone, explainOnGlobal } from './explain-sync.ts';
import { ANY_ZONE } from '../resource/zone-profile.ts';

const labels = fc.record(
  {
    [label.origin]: fc.constantFrom('global', 'zone'),
    [label.zone]: fc.constantFrom('east', 'west'),
    [label.namespace]: fc.constantFrom('shop', 'web'),
    [label.displayName]: fc.constant('shown'),
    [label.kdsSync]: fc.constantFrom('enabled', 'disabled'),
    [label.policyRole]: fc.constantFrom('producer', 'system'),
    team: fc.constant('a'),
  },
  { requiredKeys: [] },
);
const TYPES = ['Mesh', 'MeshTimeout', 'MeshService', 'Config', 'GlobalSecret', 'Zone', 'Dataplane'];
/** A signing key without PEM cannot be sent. */
const name = fc.constantFrom('thing', 'zone-token-signing-key-1');
const row = fc
  .record({ type: fc.constantFrom(...TYPES), name, labels })
  .map(({ type, name: called, labels: given }) => makeRow(type, called, { labels: given }));
const skipPrefixes = fc.subarray(['kuma.io/', 'k8s.kuma.io/', 'kuma.io/display-name', 'team', 'nothing/']);

/** The names on the wire, without the mesh. */
async function namesInLog(rules: SendRules, { type, mesh, name, labels: given, spec }: Resource): Promise<string[]> {
  const store = new TinyStore();
  await store.write({ op: 'create', key: { type, mesh, name }, labels: given, spec });
  const stop = new AbortController();
  const changelog = new Changelog(store, rules, createLogger('silent'));
  const running = changelog.run(stop.signal);
  await changelog.ready;
  stop.abort();
  await running;
  const slots = [...(changelog.logOf(type)?.since(0) ?? [])].filter(({ entry }) => entry?.visibility.to !== 'none');
  return slots.map(({ wireName }) => wireName.slice(0, wireName.lastIndexOf('.')));
}

function namesTold(explained: object, to: string): string[] {
  const { targets } = explained as { targets: { to: string; isSent: boolean; name: string | null }[] };
  return targets.flatMap((target) => (target.to === to && target.isSent && target.name !== null ? [target.name] : []));
}

it('explain-sync and the log of global give a resource the same name, with any skipped label prefixes', async () => {
  await fc.assert(
    fc.asyncProperty(row, skipPrefixes, async (resource, prefixes) => {
      const rules = globalSendRules({ skipPrefixes: prefixes });
      const explained = explainOnGlobal(rules, resource, [{ name: 'north', profile: ANY_ZONE, insight: {} }]);
      expect(namesTold(explained, 'north')).toEqual(await namesInLog(rules, resource));
    }),
  );
});

it('explain-sync and the log of a zone give a resource the same name, with any skipped label prefixes', async () => {
  await fc.assert(
    fc.asyncProperty(row, skipPrefixes, async (resource, prefixes) => {
      const rules = zoneSendRules({ zone: 'east', skipPrefixes: prefixes });
      expect(namesTold(explainInZone(rules, resource, { name: 'east', hasGlobal: true }), 'global')).toEqual(
        await namesInLog(rules, resource),
      );
    }),
  );
});

const connections = ['online', 'lagging', 'refused', 'offline'] as const;
const deliveries: readonly (DeliveryNow | undefined)[] = [
  { state: 'acknowledged', reason: null, since: new Date(5) },
  { state: 'pending', reason: null, since: new Date(5) },
  { state: 'refused', reason: 'bad', since: null },
  { state: 'withheld', reason: 'large', since: null },
  { state: 'hidden', reason: null, since: null },
  undefined,
];

it('explain-sync says that a zone is in sync only while it is connected and has confirmed the version', () => {
  const resource = makeRow('MeshTimeout', 'slow');
  const told = connections.map((connection) =>
    deliveries.map((delivery) => {
      const sync = { state: connection, connection, since: null, pending: [], lagMs: 0, reason: 'why' };
      const zone = { name: 'east', profile: ANY_ZONE, insight: {}, live: { sync, delivery, at: 'global-1' } };
      return explainOnGlobal(globalSendRules(), resource, [zone]).targets[0]?.state?.kind;
    }),
  );
  expect(told).toEqual([
    ['inSync', 'pending', 'refused', 'withheld', 'withheld', 'unknown'],
    ['inSync', 'pending', 'refused', 'withheld', 'withheld', 'unknown'],
    Array(6).fill('turnedAway'),
    Array(6).fill('away'),
  ]);
});

it('explain-sync names the labels that are not sent', () => {
  const rules = globalSendRules({ skipPrefixes: ['team'] });
  const row = makeRow('MeshTimeout', 'slow', { labels: { team: 'a', app: 'b' } });
  expect(explainOnGlobal(rules, row, []).withoutLabels).toEqual(['team']);
  expect(explainOnGlobal(globalSendRules(), row, [])).not.toHaveProperty('withoutLabels');
});
