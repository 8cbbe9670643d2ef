// A zone on Kubernetes at the real server, played with the rows that a real one had: its copies are what global must send it, under the same
// names, and its own rows are what global must store and send on.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { compareText } from '../../src/base/compare-text.ts';
import { createLogger } from '../../src/base/log.ts';
import { feature } from '../../src/kds/protocol/features.ts';
import { globalReceiveRules, zoneSendRules, visibilityOf } from '../../src/kds/protocol/rules.ts';
import { Receiver } from '../../src/kds/receiver/receiver.ts';
import { encodeKumaResource, type WireResource } from '../../src/resource/codec.ts';
import { displayNameOf, label } from '../../src/resource/labels.ts';
import { storedNameOf } from '../../src/resource/stored-name.ts';
import { resourceTypes, typeOf } from '../../src/resource/type-registry.ts';
import type { JsonObject, Labels, Resource, ResourceKey } from '../../src/resource/types.ts';
import { validateResource } from '../../src/resource/validate-spec.ts';
import { readDump } from '../../src/takeover/read-dump.ts';
import type { TakenRow } from '../../src/takeover/taken-row.ts';
import { decodeDeltaRequest, type DeltaRequest } from '../../src/wire/kds-messages.ts';
import { makeRow } from '../support/make-row.ts';
import { PlayedZone, resourcesIn } from './played-zone.ts';
import { serverUnderAttack, SLOW } from './server-under-attack.ts';

const ZONE = 'zone-k8s';
const FEATURES = [feature.hashSuffix, feature.hostnameGeneratorMultiZone, feature.producerPolicyFlow];
const dumped = readDump('kubernetes-zone.yaml', readFileSync(join(import.meta.dirname, 'kubernetes-zone.yaml'), 'utf8'));
const copies = dumped.filter(({ labels }) => labels[label.origin] === 'global');
const own = dumped.filter(({ labels }) => labels[label.origin] === 'zone' && labels[label.zone] === ZONE);

const rules = zoneSendRules({ zone: ZONE });
const ZONE_TYPES = resourceTypes.filter(({ kds }) => kds.zoneToGlobal);

/** Whether a copy came from another zone. A policy of global may have the label of a zone. */
function isOfZone({ type, labels }: TakenRow): boolean {
  return labels[label.zone] !== undefined && typeOf(type).policy === null;
}

/** The key that the row of a copy has at global: the hashed name for a row of a zone. */
function keyOnGlobal(copy: TakenRow): ResourceKey {
  const { type, mesh, labels } = copy;
  if (isOfZone(copy)) return { type, mesh, name: copy.name };
  return { type, mesh, name: storedNameOf({ displayName: displayNameOf(copy), namespace: labels[label.namespace] ?? '' }) };
}

function labelsOnGlobal(copy: TakenRow): Labels {
  const { [label.origin]: _origin, ...labels } = copy.labels;
  return isOfZone(copy) ? { ...labels, [label.origin]: 'zone' } : labels;
}

function resourceOf(row: TakenRow): Resource {
  return makeRow(row.type, row.name, { mesh: row.mesh, labels: row.labels, spec: row.spec });
}

/** Meridian sends a Kuma zone a policy without a target as one of the mesh. */
function specFor({ type, spec }: TakenRow): JsonObject {
  return typeOf(type).policy === null ? spec : { targetRef: { kind: 'Mesh' }, ...spec };
}

function onTheWire(row: TakenRow): WireResource {
  return rules.map(resourceOf(row), typeOf(row.type));
}

function leavesItsZone(row: TakenRow): boolean {
  return visibilityOf(rules, resourceOf(row)).visibility.to !== 'none';
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return compareText(a.name, b.name);
}

describe('a zone on Kubernetes', () => {
  const server = serverUnderAttack();
  const cleanUps: (() => unknown)[] = [];
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
  });

  async function put(key: ResourceKey, row: Pick<TakenRow, 'labels' | 'spec'>, owner: ResourceKey | null = null): Promise<void> {
    const { labels, spec } = row;
    await server.store.write({ op: 'put', key, labels, spec, owner, ...(owner !== null && { syncVersion: 'v' }) });
    cleanUps.push(() => server.store.write({ op: 'delete', key }));
  }

  async function putZone(name: string): Promise<ResourceKey> {
    const key = { type: 'Zone', mesh: '', name };
    await put(key, { labels: {}, spec: { enabled: true } });
    return key;
  }

  function dial(name: string): PlayedZone {
    const zone = new PlayedZone(server.dial(), name, FEATURES);
    cleanUps.push(() => zone.leave());
    return zone;
  }

  /** The full state of a type, by wire name. */
  async function stateOf(zone: PlayedZone, type: string): Promise<Record<string, WireResource>> {
    zone.subscribe(type);
    return resourcesIn(await zone.take());
  }

  /** A global that receives the rows of the zone by one type, as the zone sends them. */
  async function send(type: string, rows: readonly TakenRow[], removed: readonly string[] = []): Promise<DeltaRequest[]> {
    const answers: DeltaRequest[] = [];
    const receiver = new Receiver({
      ...{ zone: ZONE, peer: ZONE, streamId: 's', resume: false, maxMessageBytes: 1_000_000, log: createLogger('silent') },
      rules: { ...globalReceiveRules(ZONE, { hashedNames: true }), types: [typeOf(type)] },
      ...{ store: server.store, node: { version: '0', instanceId: 'i', config: '' }, validate: validateResource },
      send: (message) => void answers.push(decodeDeltaRequest(message)),
      ...{ observe: () => undefined, clock: systemClock },
    });
    await receiver.start();
    const resources = rows.map((row) => {
      const wire = onTheWire(row);
      const resource = encodeKumaResource(typeOf(type), wire);
      cleanUps.push(() => server.store.write({ op: 'delete', key: { type, mesh: row.mesh, name: wire.name } }));
      return { name: `${wire.name}.${wire.mesh}`, version: '', resource, anyTypeUrl: '' };
    });
    await receiver.handle({
      ...{ typeUrl: type, nonce: '1', controlPlane: ZONE, isPartial: false },
      ...{ resources, removedResources: removed },
    });
    return answers;
  }

  it('gets its copies under the names, and with the labels and specs, that it had', async () => {
    const zones = new Map<string, ResourceKey>();
    for (const copy of copies) {
      const home = isOfZone(copy) ? (copy.labels[label.zone] ?? '') : null;
      if (home !== null && !zones.has(home)) zones.set(home, await putZone(home));
      await put(keyOnGlobal(copy), { ...copy, labels: labelsOnGlobal(copy) }, home === null ? null : zones.get(home));
    }
    const zone = dial(ZONE);
    for (const type of new Set(copies.map((copy) => copy.type))) {
      const wanted = copies.filter((copy) => copy.type === type);
      const state = Object.values(await stateOf(zone, type)).filter(({ name }) => !SLOW.startsWith(`${name}.`));
      expect(state.map(({ name, mesh, labels, spec }) => ({ name, mesh, labels, spec })).toSorted(byName)).toEqual(
        wanted.map((copy) => ({ name: copy.name, mesh: copy.mesh, labels: copy.labels, spec: specFor(copy) })).toSorted(byName),
      );
    }
    expect(copies).toHaveLength(39);
  });

  it('has its own rows at global: of each namespace and mesh, with their labels, except those that stay in the zone', async () => {
    await putZone(ZONE);
    for (const info of ZONE_TYPES) {
      const rows = own.filter(({ type }) => type === info.name);
      const sent = rows.filter(leavesItsZone);
      if (sent.length === 0) continue;
      const answers = await send(info.name, sent);
      expect(answers.at(-1)?.errorDetail).toBeNull();
      const stored = (await server.store.list({ type: info.name })).filter(({ owner }) => owner?.type === 'Zone');
      expect(stored.map(({ mesh, name, labels, spec }) => ({ mesh, name, labels, spec })).toSorted(byName)).toEqual(
        sent.map((row) => ({ mesh: row.mesh, name: onTheWire(row).name, labels: row.labels, spec: row.spec })).toSorted(byName),
      );
    }
    expect(own.filter((row) => !leavesItsZone(row)).map(({ name }) => name)).toEqual(['nosync', 'same2']);
  });

  it('gives other zones its services and its producer policies, and takes back what it deletes', async () => {
    await putZone(ZONE);
    const timeouts = own.filter((row) => row.type === 'MeshTimeout' && leavesItsZone(row));
    const services = own.filter(({ type }) => type === 'MeshService');
    await send('MeshTimeout', timeouts);
    await send('MeshService', services);
    const west = dial('west');
    const got = Object.values(await stateOf(west, 'MeshTimeout')).filter(({ labels }) => labels[label.zone] === ZONE);
    const producers = timeouts.filter(({ labels }) => labels[label.policyRole] === 'producer');
    expect(got.map(displayNameOf).toSorted()).toEqual(producers.map(displayNameOf).toSorted());
    expect(
      Object.values(await stateOf(west, 'MeshService'))
        .map(({ name }) => name)
        .toSorted(),
    ).toEqual(services.map((row) => onTheWire(row).name).toSorted());
    const [gone, relabelled, ...others] = producers;
    if (gone === undefined || relabelled === undefined) throw new Error('the zone has two producer policies');
    const changed = { ...relabelled, labels: { ...relabelled.labels, team: 'blue' } };
    const rest = timeouts.filter((row) => row !== gone && row !== relabelled);
    await send('MeshTimeout', [changed, ...rest]);
    const seen = new Map<string, Labels>();
    const removed: string[] = [];
    while (removed.length === 0 || seen.size === 0) {
      const response = await west.take();
      for (const { name, labels } of Object.values(resourcesIn(response))) seen.set(name, labels);
      removed.push(...response.removedResources);
    }
    expect(removed).toEqual([`${onTheWire(gone).name}.${gone.mesh}`]);
    expect([...seen]).toEqual([[onTheWire(relabelled).name, { ...changed.labels, [label.origin]: 'global' }]]);
    expect(others.length).toBeGreaterThan(3);
  });
});
