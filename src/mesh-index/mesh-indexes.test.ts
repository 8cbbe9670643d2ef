// The index follows the store: an answer includes every earlier write, and only changed rows are read.
import { afterEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { TinyStore } from '../../test/support/tiny-store.ts';
import { systemClock } from '../base/clock.ts';
import { createLogger } from '../base/log.ts';
import type { ListQuery, StoreChange } from '../store/resource-store.ts';
import { hasDemandedTls, withDemandedTls } from '../policy/demanded-tls.ts';
import type { JsonObject, Resource, ResourceKey } from '../resource/types.ts';
import { MeshIndexes } from './mesh-indexes.ts';

/** Counts what is read, and can end its feed or lose a mark, as a database that restarts does. */
class WatchedStore extends TinyStore {
  readonly listed: string[] = [];
  readonly read: string[] = [];
  losesMarks = false;
  failsOnce = false;
  #push: (change: StoreChange) => void = () => undefined;

  override async list(query: ListQuery): Promise<Resource[]> {
    this.listed.push(query.type);
    return await super.list(query);
  }

  override async getMany(keys: readonly ResourceKey[]): Promise<Resource[]> {
    this.read.push(...keys.map(({ type, name }) => `${type} ${name}`));
    if (this.failsOnce) {
      this.failsOnce = false;
      throw new Error('the connection ended');
    }
    return await super.getMany(keys);
  }

  override async mark(id: string): Promise<void> {
    if (!this.losesMarks) return await super.mark(id);
    this.losesMarks = false;
    this.#push({ kind: 'all' });
  }

  /** A hint that no write of the store gives. */
  tell(change: StoreChange): void {
    this.#push(change);
  }

  override async *changes(signal: AbortSignal): AsyncIterable<StoreChange> {
    const extra: StoreChange[] = [];
    let wake: () => void = () => undefined;
    const own = super.changes(signal)[Symbol.asyncIterator]();
    this.#push = (change) => void (extra.push(change), wake());
    let next = own.next();
    for (;;) {
      const first = extra.shift();
      if (first !== undefined) yield first;
      else {
        const woken = new Promise<null>((resolve) => (wake = () => resolve(null)));
        const result = await Promise.race([next, woken]);
        if (result === null) continue;
        if (result.done === true) return;
        yield result.value;
        next = own.next();
      }
    }
  }
}

const stop: AbortController[] = [];
afterEach(() => {
  for (const one of stop.splice(0)) one.abort();
});

async function started(now?: () => Date): Promise<{ store: WatchedStore; indexes: MeshIndexes; end: () => Promise<void> }> {
  const store = new WatchedStore(now);
  const signal = new AbortController();
  stop.push(signal);
  const indexes = new MeshIndexes({ store, log: createLogger('silent'), clock: systemClock, signal: signal.signal });
  await put(store, 'Mesh', 'default', {}, '');
  await put(store, 'MeshTimeout', 'a', { to: [] });
  const end = async (): Promise<void> => {
    signal.abort();
    await indexes.ended();
  };
  return { store, indexes, end };
}

async function put(store: TinyStore, type: string, name: string, spec: JsonObject, mesh = 'default'): Promise<void> {
  await store.write({ op: 'put', key: { type, mesh, name }, labels: {}, spec });
}

describe('the indexes of meshes', () => {
  it('read a mesh once, then only its changes', async () => {
    const { store, indexes } = await started();
    expect((await indexes.indexOf('default')).policy('MeshTimeout', 'a')).toBeDefined();
    store.listed.length = 0;
    store.read.length = 0;
    await put(store, 'MeshTimeout', 'b', { to: [] });
    await store.write({ op: 'delete', key: { type: 'MeshTimeout', mesh: 'default', name: 'a' } });
    const index = await indexes.indexOf('default');
    expect([index.policy('MeshTimeout', 'a'), index.policy('MeshTimeout', 'b')?.displayName]).toEqual([undefined, 'b']);
    expect([store.listed, new Set(store.read)]).toEqual([[], new Set(['MeshTimeout b', 'MeshTimeout a'])]);
    await put(store, 'DataplaneInsight', 'x', {});
    await put(store, 'MeshTimeout', 'c', {}, 'another');
    await indexes.indexOf('default');
    expect([store.listed, store.read]).toEqual([[], expect.not.arrayContaining(['DataplaneInsight x', 'MeshTimeout c'])]);
  });

  it.each(['Dataplane', 'MeshHTTPRoute', 'MeshOpenTelemetryBackend', 'MeshService', 'MeshZoneAddress'])(
    'hold what a policy or a proxy names: %s',
    async (type) => {
      const { store, indexes, end } = await started();
      const spec = type === 'MeshHTTPRoute' ? { to: [] } : {};
      await put(store, type, 'before', spec);
      expect((await indexes.indexOf('default')).get(type, 'before')).toBeDefined();
      await put(store, type, 'later', spec);
      expect((await indexes.indexOf('default')).get(type, 'later')).toBeDefined();
      await end();
    },
  );

  it('keep the shared rules when only a status has changed', async () => {
    const { store, indexes } = await started();
    const key = { type: 'MeshTimeout', mesh: 'default', name: 'a' };
    const before = (await indexes.indexOf('default')).revisionOf('MeshTimeout');
    await store.write({ op: 'put', key, labels: {}, spec: { to: [] }, status: { conditions: [] } });
    expect((await indexes.indexOf('default')).revisionOf('MeshTimeout')).toBe(before);
    await put(store, 'MeshTimeout', 'a', { to: [{}] });
    expect((await indexes.indexOf('default')).revisionOf('MeshTimeout')).not.toBe(before);
  });

  it.each<[what: string, hint: StoreChange]>([
    ['the type alone', { kind: 'type', type: 'MeshTimeout' }],
    ['everything', { kind: 'all' }],
  ])('are read again when the feed names %s', async (_, hint) => {
    const { store, indexes } = await started();
    const index = await indexes.indexOf('default');
    const [id] = [...store.rows].find(([, row]) => row.name === 'a') ?? [''];
    store.rows.delete(id);
    store.tell(hint);
    await expect.poll(async () => (await indexes.indexOf('default')).policy('MeshTimeout', 'a')).toBeUndefined();
    expect(await indexes.indexOf('default')).toBe(index);
  });

  it('have the age of a row that was deleted and created again between two reads', async () => {
    const clock = new ManualClock();
    const { store, indexes } = await started(() => clock.now());
    const index = await indexes.indexOf('default');
    await clock.advance(1000);
    await store.write({ op: 'delete', key: { type: 'MeshTimeout', mesh: 'default', name: 'a' } });
    await put(store, 'MeshTimeout', 'a', { to: [] });
    expect((await indexes.indexOf('default')).get('MeshTimeout', 'a')?.creationTime).toEqual(clock.now());
    expect(await indexes.indexOf('default')).toBe(index);
  });

  it('answer after a connection failure that lost a mark', async () => {
    const { store, indexes } = await started();
    await indexes.indexOf('default');
    store.losesMarks = true;
    await put(store, 'MeshTimeout', 'b', { to: [] });
    expect((await indexes.indexOf('default')).policy('MeshTimeout', 'b')).toBeDefined();
  });

  it('are read again after a failed read', async () => {
    const { store, indexes } = await started();
    await indexes.indexOf('default');
    store.failsOnce = true;
    await put(store, 'MeshTimeout', 'b', { to: [] });
    await expect.poll(async () => (await indexes.indexOf('default')).policy('MeshTimeout', 'b')?.displayName).toBe('b');
  });

  it('do not wait for the work of another mesh, and merge the changes that wait for it', async () => {
    const { store, indexes } = await started();
    await put(store, 'Mesh', 'busy', {}, '');
    const { promise: work, resolve: finish } = Promise.withResolvers<void>();
    const taken: string[][] = [];
    const observer = {
      ...{ before: () => undefined, beforeEverything: () => undefined, ended: () => undefined },
      after: async (next: readonly Resource[]) => {
        taken.push(next.map(({ name, spec }) => `${name} ${JSON.stringify(spec)}`));
        await work;
      },
    };
    await indexes.observe('busy', () => observer);
    await put(store, 'MeshTimeout', 'flapping', { to: [] }, 'busy');
    await expect.poll(() => taken.length).toBe(1);
    for (let time = 1; time <= 20; time += 1) await put(store, 'MeshTimeout', 'flapping', { to: [{ time }] }, 'busy');
    await put(store, 'MeshTimeout', 'b', { to: [] });
    expect((await indexes.indexOf('default')).policy('MeshTimeout', 'b')).toBeDefined();
    finish();
    expect((await indexes.indexOf('busy')).get('MeshTimeout', 'flapping')?.spec).toEqual({ to: [{ time: 20 }] });
    expect(taken).toEqual([['flapping {"to":[]}'], ['flapping {"to":[{"time":20}]}']]);
  });

  it.each([
    ['MeshService', { vips: [{ ip: '241.0.0.1' }] }],
    ['MeshService', { addresses: [{ hostname: 'cart.svc.mesh.local' }] }],
    ['MeshMultiZoneService', { vips: [{ ip: '243.0.0.1' }] }],
    ['MeshExternalService', { vip: { ip: '242.0.0.1' } }],
  ])('observe an address and a hostname in the status of a %s: %j', async (type, rowStatus) => {
    const { store, indexes, end } = await started();
    const key = { type, mesh: 'default', name: 'cart' };
    await put(store, type, 'cart', { ports: [] });
    const taken: string[] = [];
    const observer = {
      ...{ before: () => undefined, beforeEverything: () => undefined, ended: () => undefined },
      after: async (next: readonly Resource[]) => void taken.push(...next.map(({ status }) => JSON.stringify(status))),
    };
    await indexes.observe('default', () => observer);
    const conditions = [{ type: 'Ready' }];
    for (const status of [{ conditions }, { conditions, ...rowStatus }]) {
      await store.write({ op: 'put', key, labels: {}, spec: { ports: [] }, status });
      await indexes.indexOf('default');
    }
    expect(taken).toEqual([JSON.stringify({ conditions, ...rowStatus })]);
    await end();
  });

  it('tell each change to all observers', async () => {
    const { store, indexes, end } = await started();
    const taken: string[] = [];
    for (const name of ['first', 'second'])
      await indexes.observe('default', () => ({
        ...{ before: () => undefined, beforeEverything: () => undefined, ended: () => void taken.push(`${name} ended`) },
        after: async (next: readonly Resource[]) => void taken.push(...next.map((row) => `${name} ${row.name}`)),
      }));
    await put(store, 'MeshTimeout', 'b', { to: [] });
    await indexes.indexOf('default');
    await store.write({ op: 'delete', key: { type: 'Mesh', mesh: '', name: 'default' } });
    await indexes.indexOf('default');
    expect(taken).toEqual(['first b', 'second b', 'first ended', 'second ended']);
    await end();
  });

  it('observe that an Envoy demands TLS only where the status of its services does not imply it', async () => {
    const { store, indexes } = await started();
    const taken: string[][] = [];
    const observer = {
      ...{ before: () => undefined, beforeEverything: () => undefined, ended: () => undefined },
      after: async (next: readonly Resource[]) => void taken.push(next.map(({ name }) => name)),
    };
    const write = async (type: string, name: string, spec: JsonObject, status: JsonObject): Promise<void> =>
      void (await store.write({ op: 'put', key: { type, mesh: 'default', name }, labels: {}, spec, status }));
    const dataplane = { networking: { address: '10.0.0.1', inbound: [{ port: 80 }] } };
    const service = { selector: { dataplaneRef: { name: 'cart' } }, ports: [{ port: 80 }] };
    const says = async (isDemanded: boolean): Promise<void> => {
      await write('Dataplane', 'cart', dataplane, withDemandedTls({}, isDemanded));
      const row = (await indexes.indexOf('default')).get('Dataplane', 'cart');
      expect(hasDemandedTls({ status: row?.status ?? {} })).toBe(isDemanded);
    };
    await says(false);
    await write('MeshService', 'cart', service, { tls: { status: 'Ready', enforced: true } });
    await indexes.observe('default', () => observer);
    await says(true);
    expect(taken).toEqual([]);
    await says(false);
    expect(taken).toEqual([['cart']]);
    await write('MeshService', 'fresh', service, {});
    await says(true);
    expect(taken).toEqual([['cart'], ['fresh'], ['cart']]);
  });

  it('drop a deleted mesh, and keep nothing for a mesh that never existed', async () => {
    const { store, indexes } = await started();
    const index = await indexes.indexOf('default');
    await store.write({ op: 'delete', key: { type: 'Mesh', mesh: '', name: 'default' } });
    expect(await indexes.indexOf('default')).not.toBe(index);
    expect(await indexes.indexOf('default')).not.toBe(await indexes.indexOf('default'));
  });

  it('end with the signal, and refuse questions after that', async () => {
    const { indexes, end } = await started();
    await indexes.indexOf('default');
    await end();
    await expect(indexes.indexOf('default')).rejects.toMatchObject({ code: 'unavailable' });
  });
});
