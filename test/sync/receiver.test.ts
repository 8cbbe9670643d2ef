// What a receiver does with a response, whatever happened to its rows and whatever the peer says.
import { describe, expect, it } from 'vitest';
import { createLogger } from '../../src/base/log.ts';
import { sinkOf } from '../../src/control-plane/store-ports.ts';
import { Receiver } from '../../src/kds/receiver.ts';
import { globalReceiveRules } from '../../src/kds/rules.ts';
import { encodeKumaResource } from '../../src/resource/codec.ts';
import { typeOf } from '../../src/resource/type-registry.ts';
import type { JsonObject, Resource } from '../../src/resource/types.ts';
import { validateResource } from '../../src/resource/validate-spec.ts';
import { decodeDeltaRequest, type DeltaRequest, type DeltaResponse } from '../../src/wire/kds-messages.ts';
import { TinyStore } from '../support/tiny-store.ts';

const owner = { type: 'Zone', mesh: '', name: 'east' };
const labels = { 'kuma.io/zone': 'east', 'kuma.io/origin': 'zone' };
const keyOf = (name: string): Pick<Resource, 'type' | 'mesh' | 'name'> => ({ type: 'MeshTimeout', mesh: 'default', name });

/** A global that receives the MeshTimeouts of the zone east. */
async function receive(store: TinyStore, resume: boolean): Promise<{ receiver: Receiver; sent: DeltaRequest[] }> {
  const sent: DeltaRequest[] = [];
  const rules = globalReceiveRules('east', { hashedNames: true });
  const receiver = new Receiver({
    ...{ zone: 'east', peer: 'east', streamId: 's', resume, maxMessageBytes: 100_000, log: createLogger('silent') },
    ...{ rules: { ...rules, types: [typeOf('MeshTimeout')] }, sink: sinkOf(store, 'east') },
    node: { version: '0', instanceId: 'i', config: '' },
    validate: validateResource,
    send: (message) => void sent.push(decodeDeltaRequest(message)),
    observe: () => undefined,
    now: () => 0,
  });
  await receiver.start();
  return { receiver, sent };
}

function response(resources: Record<string, JsonObject>, removed: readonly string[] = []): DeltaResponse {
  const encoded = Object.entries(resources).map(([name, spec]) => {
    const resource = encodeKumaResource(typeOf('MeshTimeout'), { ...keyOf(name), labels: {}, spec, status: undefined });
    return { name: `${name}.default`, version: '', resource, anyTypeUrl: '' };
  });
  return {
    ...{ typeUrl: 'MeshTimeout', nonce: '1', resources: encoded, controlPlane: 'east', isPartial: false },
    removedResources: removed.map((name) => `${name}.default`),
  };
}

const namesIn = (store: TinyStore): string[] => [...store.rows.values()].map(({ name }) => name).sort();

describe('a row of the zone that somebody’s edit took the labels from', () => {
  it('is told of at a resume, and goes when the zone does not have it (engine 12)', async () => {
    const store = new TinyStore();
    await store.write({ op: 'create', key: keyOf('lost'), labels: {}, spec: {}, owner, syncVersion: 'v' });
    await store.write({ op: 'create', key: keyOf('of-another'), labels: {}, spec: {}, owner: { ...owner, name: 'west' } });
    const resumed = await receive(store, true);
    expect(resumed.sent.map(({ initialResourceVersions }) => [...initialResourceVersions.keys()])).toEqual([['lost.default']]);
    const full = await receive(store, false);
    await full.receiver.handle(response({ other: {} }));
    expect(namesIn(store)).toEqual(['of-another', 'other']);
  });
});

describe('a refused resource', () => {
  it('keeps the stored version though the response removes it too (kds-wire 6.2.1)', async () => {
    const store = new TinyStore();
    for (const name of ['bad', 'gone']) await store.write({ op: 'create', key: keyOf(name), labels, spec: {}, owner });
    const { receiver, sent } = await receive(store, true);
    await receiver.handle(response({ bad: { targetRef: 5 } }, ['bad', 'gone']));
    expect(namesIn(store)).toEqual(['bad']);
    expect(sent.at(-1)?.errorDetail?.message).toContain('name="bad"');
  });
});
