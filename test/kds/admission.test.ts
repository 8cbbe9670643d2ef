// A zone that knows its cluster subscribes to nothing else until global has sent the same cluster id (engine 14).
import { expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { MeridianError } from '../../src/base/errors.ts';
import { createLogger } from '../../src/base/log.ts';
import { Receiver } from '../../src/kds/receiver/receiver.ts';
import { zoneReceiveRules } from '../../src/kds/protocol/rules.ts';
import { decodeDeltaRequest, type DeltaResponse } from '../../src/wire/kds-messages.ts';
import { clusterAdmission } from '../../src/peering/cluster-guard.ts';
import { encodeKumaResource } from '../../src/resource/codec.ts';
import type { Resource } from '../../src/resource/types.ts';
import { typeOf } from '../../src/resource/type-registry.ts';
import { TinyStore } from '../support/tiny-store.ts';

const labels = { 'kuma.io/origin': 'global' };
const key = { type: 'Config', mesh: '', name: 'kuma-cluster-id' };

async function zoneOf(cluster: string): Promise<{ store: TinyStore; receiver: Receiver; asked: string[] }> {
  const store = new TinyStore();
  await store.write({ op: 'create', key, labels, spec: { config: cluster }, syncVersion: 'old' });
  await store.write({ op: 'create', key: { type: 'Mesh', mesh: '', name: 'm' }, labels, spec: {}, syncVersion: 'old' });
  const asked: string[] = [];
  const receiver = new Receiver({
    ...{ zone: 'east', peer: 'global', streamId: 's', rules: zoneReceiveRules(), store, resume: false },
    node: { version: '0', instanceId: 'i', config: '' },
    admission: await clusterAdmission(store, 'grpc://g:1', systemClock),
    maxMessageBytes: 10_485_760,
    validate: () => [],
    send(message) {
      const { typeUrl, responseNonce } = decodeDeltaRequest(message);
      if (responseNonce === '') asked.push(typeUrl);
    },
    observe: () => undefined,
    log: createLogger('silent'),
    clock: systemClock,
  });
  await receiver.start();
  return { store, receiver, asked };
}

function state(typeUrl: string, cluster: string | null): DeltaResponse {
  const resource = { name: key.name, mesh: '', labels, spec: { config: cluster ?? '' }, status: undefined };
  const bytes = encodeKumaResource(typeOf('Config'), resource);
  const resources = cluster === null ? [] : [{ name: 'kuma-cluster-id.', version: '', resource: bytes, anyTypeUrl: '' }];
  return { typeUrl, nonce: '1', resources, removedResources: [], controlPlane: 'global', isPartial: false };
}

it('a zone requests all types when the cluster id is the known one', async () => {
  const { receiver, asked } = await zoneOf('ours');
  expect(asked).toEqual(['Config']);
  await receiver.handle(state('Config', 'ours'));
  expect(asked).toHaveLength(zoneReceiveRules().types.length);
});

it.each([['theirs'], [null]])('a zone stores and prunes nothing from a global with cluster id %j', async (offered) => {
  const { store, receiver, asked } = await zoneOf('ours');
  const before = new Map(store.rows);
  await expect(receiver.handle(state('Config', offered))).rejects.toThrow(MeridianError);
  expect(asked).toEqual(['Config']);
  const known = await store.get(key);
  expect(known?.status).toMatchObject({ refused: { id: offered ?? '' } });
  expect({ spec: known?.spec, syncVersion: known?.syncVersion }).toEqual({ spec: { config: 'ours' }, syncVersion: 'old' });
  const others = (rows: ReadonlyMap<string, Resource>): Resource[] => [...rows.values()].filter(({ type }) => type !== 'Config');
  expect(others(store.rows)).toEqual(others(before));
});
