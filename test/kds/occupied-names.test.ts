// A zone tries to take names of others on global: every new row gets a name that only this zone can have.
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import { Receiver } from '../../src/kds/receiver/receiver.ts';
import { globalConsumes, globalReceiveRules } from '../../src/kds/protocol/rules.ts';
import { encodeKumaResource } from '../../src/resource/codec.ts';
import { hashName, hashNameOf } from '../../src/resource/hash-name.ts';
import { label } from '../../src/resource/labels.ts';
import { typeOf, type TypeInfo } from '../../src/resource/type-registry.ts';
import type { Labels } from '../../src/resource/types.ts';
import { decodeDeltaRequest, type DeltaResponse } from '../../src/wire/kds-messages.ts';
import { fc } from '../support/property.ts';
import { TinyStore } from '../support/tiny-store.ts';

const CARTS: Labels = { [label.displayName]: 'cart' };
const zoneKey = (name: string): { type: string; mesh: string; name: string } => ({ type: 'Zone', mesh: '', name });
const meshOf = ({ scope }: TypeInfo): string => (scope === 'Mesh' ? 'shop' : '');

type Sent = { readonly name: string; readonly labels: Labels };

/** Global stores one response of the zone. @returns the text of its NACK, or null */
async function send(
  store: TinyStore,
  zone: string,
  info: TypeInfo,
  sent: readonly Sent[],
  hashedNames = true,
): Promise<string | null> {
  const answers: (string | null)[] = [];
  const receiver = new Receiver({
    ...{ zone, peer: zone, streamId: 's', resume: true, maxMessageBytes: 100_000, log: createLogger('silent') },
    ...{ rules: { ...globalReceiveRules(zone, { hashedNames }), types: [info] }, store },
    ...{ node: { version: '0', instanceId: 'i', config: '' }, validate: () => [], observe: () => undefined, clock: systemClock },
    send: (message) => void answers.push(decodeDeltaRequest(message).errorDetail?.message ?? null),
  });
  await receiver.start();
  const mesh = meshOf(info);
  const status = info.hasStatus ? {} : undefined;
  const response: DeltaResponse = {
    ...{ typeUrl: info.name, nonce: '1', controlPlane: zone, isPartial: false, removedResources: [] },
    resources: sent.map(({ name, labels }) => ({
      ...{ name: `${name}.${mesh}`, version: '', anyTypeUrl: '' },
      resource: encodeKumaResource(info, { name, mesh, labels, spec: {}, status }),
    })),
  };
  await receiver.handle(response);
  return answers.at(-1) ?? null;
}

const rowsOf = (store: TinyStore, zone: string): string[] =>
  [...store.rows.values()].filter(({ owner }) => owner?.name === zone).map(({ name }) => name);

describe('a zone with hashed names', () => {
  it('creates rows of every type only under the hash of their labels, for any input', async () => {
    const name = fc.oneof(
      fc.constantFrom('frozen', 'cart', 'mesh-retry-all-shop2', hashName({ mesh: 'shop', name: 'cart', zone: 'west' })),
      fc.constantFrom(hashName({ mesh: 'shop', name: 'cart', zone: 'evil' }), hashName({ mesh: 'shop', name: 'cart' })),
    );
    const labels = fc.dictionary(
      fc.constantFrom<string>(label.displayName, label.zone, label.origin, label.mesh, label.namespace),
      fc.constantFrom('cart', 'frozen', 'west', 'evil', 'global', 'zone', 'shop'),
    );
    const sent = fc.uniqueArray(fc.record({ name, labels }), { selector: (one) => one.name, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...globalConsumes), sent, async (info, resources) => {
        const store = new TinyStore().withZones('east', 'west', 'evil');
        const text = await send(store, 'evil', info, resources);
        for (const { name: stored, mesh, labels: own } of await store.list({ type: info.name })) {
          expect(stored).toBe(hashNameOf({ name: stored, mesh, labels: own }));
          expect(own[label.zone]).toBe('evil');
        }
        const refused = resources.filter((one) => !rowsOf(store, 'evil').includes(one.name));
        for (const one of refused) expect(text).toContain(`name=${JSON.stringify(one.name)}`);
        expect(text === null).toBe(refused.length === 0);
      }),
    );
  });

  it.each(globalConsumes)('stores a $name named by its hash, with and without a namespace', async (info) => {
    const store = new TinyStore().withZones('east', 'west', 'evil');
    const mesh = meshOf(info);
    const sent = [{}, { [label.namespace]: 'shop-ns' }].map((more: Labels) => {
      const labels = { ...CARTS, ...more, [label.zone]: 'east', [label.origin]: 'zone' };
      return { name: hashNameOf({ mesh, name: 'x', labels }), labels };
    });
    expect(await send(store, 'east', info, sent)).toBeNull();
    expect(rowsOf(store, 'east')).toEqual(sent.map(({ name }) => name));
  });

  it('may change its row although the labels no longer give the name', async () => {
    const store = new TinyStore().withZones('east', 'west', 'evil');
    const info = typeOf('MeshService');
    const name = hashName({ mesh: 'shop', name: 'cart', zone: 'east' });
    expect(await send(store, 'east', info, [{ name, labels: CARTS }])).toBeNull();
    expect(await send(store, 'east', info, [{ name, labels: { team: 'blue' } }])).toBeNull();
    const rows = await store.list({ type: info.name });
    expect(rows.map(({ labels }) => labels)).toEqual([{ team: 'blue', [label.zone]: 'east', [label.origin]: 'zone' }]);
  });

  it.each([
    ['zone west', { owner: zoneKey('west'), labels: {} }],
    ['zone west', { owner: null, labels: { [label.origin]: 'zone', [label.zone]: 'west' } }],
    ['global', { owner: { type: 'Mesh', mesh: '', name: 'shop' }, labels: { [label.origin]: 'global' } }],
    ['global', { owner: null, labels: {} }],
  ])('gets a refusal that names the owner of a taken name: %s', async (holder, row) => {
    const store = new TinyStore().withZones('east', 'west', 'evil');
    await store.write({ op: 'create', key: { type: 'Mesh', mesh: '', name: 'shop' }, labels: {}, spec: {} });
    const name = hashName({ mesh: 'shop', name: 'cart', zone: 'east' });
    const key = { type: 'MeshTimeout', mesh: 'shop', name };
    await store.write({ op: 'create', key, spec: { kept: true }, ...row });
    const text = await send(store, 'east', typeOf('MeshTimeout'), [{ name, labels: CARTS }]);
    expect(text).toBe(
      `user error\nresource already exists, it belongs to ${holder}: type="MeshTimeout" name="${name}" mesh="shop"`,
    );
    expect(await store.get(key)).toMatchObject({ spec: { kept: true }, version: 0 });
  });
});

it('rows of a zone without hashed names have the prefix of the zone', async () => {
  const store = new TinyStore().withZones('east', 'west', 'evil');
  expect(await send(store, 'evil', typeOf('MeshTimeout'), [{ name: 'frozen', labels: CARTS }], false)).toBeNull();
  expect(rowsOf(store, 'evil')).toEqual(['evil.frozen']);
});
