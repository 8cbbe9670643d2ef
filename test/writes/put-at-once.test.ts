// A PUT is one statement if it needs nothing from the stored row. Other PUTs read the row first.
import { FairQueue } from '../../src/base/fair-queue.ts';
import { beforeEach, expect, it } from 'vitest';
import type { ApiError } from '../../src/http/error-body.ts';
import { ResourceService, type PutResult, type WriteCall } from '../../src/writes/resource-service.ts';
import type { ControlPlaneIdentity } from '../../src/resource/compute-labels.ts';
import { typeOf } from '../../src/resource/type-registry.ts';
import type { Labels, ResourceKey } from '../../src/resource/types.ts';
import type { Write, WriteOutcome } from '../../src/store/resource-store.ts';
import { TinyStore } from '../support/tiny-store.ts';

class WatchedStore extends TinyStore {
  reads = 0;
  readonly writes: Write['op'][] = [];

  override get(key: ResourceKey): ReturnType<TinyStore['get']> {
    this.reads += 1;
    return super.get(key);
  }

  override async write(write: Write): Promise<WriteOutcome> {
    this.writes.push(write.op);
    return await super.write(write);
  }
}

let store: WatchedStore;
let service: ResourceService;
const call: WriteCall = {
  ...{ precondition: null, authorize: () => undefined, authorizeUse: () => undefined },
  by: { user: 'alice' },
  work: () => ({ caller: 'alice', left: new AbortController().signal }),
};
const timeout = { type: 'MeshTimeout', mesh: 'default', name: 'slow' };

function serviceOf(writer: ControlPlaneIdentity): ResourceService {
  const rules = { writer, checksOrigin: true };
  const checkOffThread = (): never => {
    throw new Error('these documents are small');
  };
  const queue = new FairQueue();
  return new ResourceService({
    store,
    rules,
    readOnly: false,
    unsafeDelete: false,
    meshDefaults: async () => [],
    checkOffThread,
    queue,
  });
}

beforeEach(() => {
  store = new WatchedStore();
  service = serviceOf({ mode: 'global', zone: null, federated: false });
});

const valid: Record<string, object> = {
  MeshTimeout: { to: [{ targetRef: { kind: 'Mesh' }, default: { connectionTimeout: '1s' } }] },
  MeshService: { selector: { dataplaneTags: { app: 'web' } }, ports: [{ port: 80 }] },
  Dataplane: { networking: { address: '10.0.0.1', inbound: [{ port: 80 }] } },
  Secret: { data: 'YQ==' },
};

async function put(
  type: string,
  name: string,
  spec: object = valid[type] ?? {},
  more: Partial<WriteCall> = {},
): Promise<PutResult> {
  const info = typeOf(type);
  const mesh = info.scope === 'Mesh' ? 'default' : '';
  return await service.put(info, { mesh, name }, JSON.stringify({ type, ...(mesh !== '' && { mesh }), name, spec }), {
    ...call,
    ...more,
  });
}

async function seed(key: ResourceKey, labels: Labels, syncVersion: string | null = null, spec = {}): Promise<void> {
  await store.write({ op: 'create', key, labels, spec, syncVersion });
  store.writes.length = 0;
}

const failure = async (work: Promise<unknown>): Promise<string> =>
  await work.then(
    () => 'no failure',
    (error: unknown) => (error as ApiError).message,
  );

it('a PUT creates and replaces without a read', async () => {
  await seed({ type: 'Mesh', mesh: '', name: 'default' }, {});
  expect(await put('MeshTimeout', 'slow')).toMatchObject({ result: 'created', version: 0 });
  expect(await put('MeshTimeout', 'slow')).toMatchObject({ result: 'updated', version: 1 });
  expect(store.writes).toEqual(['put', 'put']);
  expect(store.reads).toBe(0);
});

it.each(['MeshTimeout', 'MeshService', 'Dataplane', 'Secret', 'Mesh'])(
  'concurrent PUTs of a %s all succeed, one after the other',
  async (type) => {
    service = serviceOf({ mode: 'zone', zone: 'east', federated: false });
    await seed({ type: 'Mesh', mesh: '', name: 'default' }, {});
    const results = await Promise.all(Array.from({ length: 30 }, () => put(type, 'hot')));
    expect(results.map(({ version }) => version).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 30 }, (_, index) => index),
    );
  },
);

it('a DELETE deletes a row that was recreated meanwhile', async () => {
  await seed({ type: 'Mesh', mesh: '', name: 'default' }, {});
  await seed(timeout, {});
  let isSerializationFailure = true;
  store.beforeWrite = ({ op }) => {
    if (op !== 'delete' || !isSerializationFailure) return undefined;
    isSerializationFailure = false;
    return { result: 'conflict' };
  };
  expect(await service.delete(typeOf('MeshTimeout'), 'default', 'slow', call)).toMatchObject({ version: 0 });
});

it.each<[string, Labels, string | null, string]>([
  ['came from a zone', { 'kuma.io/origin': 'zone', 'kuma.io/zone': 'east' }, null, 'zone east has a resource under this name'],
  ['came by the sync', {}, 'v1', 'this is a copy of a resource of'],
])('a PUT is refused with a reason for a row that %s', async (_, labels, syncVersion, reason) => {
  await seed({ type: 'Mesh', mesh: '', name: 'default' }, {});
  await seed(timeout, labels, syncVersion);
  expect(await failure(put('MeshTimeout', 'slow'))).toContain(reason);
  expect(store.rows.get(JSON.stringify(Object.values(timeout)))?.version).toBe(0);
});

it('a PUT of a copy in a zone is refused as that, whatever else is wrong with it', async () => {
  service = serviceOf({ mode: 'zone', zone: 'east', federated: true });
  await seed({ type: 'Mesh', mesh: '', name: 'default' }, {});
  await seed(timeout, { 'kuma.io/origin': 'global' }, 'v1');
  for (const spec of [valid['MeshTimeout'], { to: 1 }])
    expect(await failure(put('MeshTimeout', 'slow', spec))).toContain('this is a copy of a resource of global: update it there');
  expect(await failure(put('MeshTimeout', 'other'))).toContain('must be zone');
});

it('a PUT reports a missing mesh when the store refuses a row without its owner', async () => {
  expect(await failure(put('MeshTimeout', 'slow'))).toContain('mesh "default" does not exist');
  expect(store.rows.size).toBe(0);
});

it.each(['Dataplane', 'Secret'])('a PUT of a %s in a missing mesh is refused, although the type has no owner', async (type) => {
  service = serviceOf({ mode: 'zone', zone: 'east', federated: false });
  expect(await failure(put(type, 'a'))).toContain('mesh "default" does not exist');
  expect(store.rows.size).toBe(0);
});

it('a PUT without access writes nothing, and does not look for its mesh', async () => {
  const authorize = (): never => {
    throw new Error('may not');
  };
  expect(await failure(put('MeshTimeout', 'slow', undefined, { authorize }))).toBe('may not');
  await seed({ type: 'Mesh', mesh: '', name: 'default' }, {});
  expect(await failure(put('MeshTimeout', 'slow', undefined, { authorize }))).toBe('may not');
  expect(store.writes).toEqual([]);
});

it('a PUT with If-Match reads the row first', async () => {
  await seed({ type: 'Mesh', mesh: '', name: 'default' }, {});
  await seed(timeout, {});
  expect(await put('MeshTimeout', 'slow', undefined, { precondition: [{ version: 0, created: null }] })).toMatchObject({
    result: 'updated',
    version: 1,
  });
  expect(store.writes).toEqual(['update']);
});

it('a write with If-Match is refused when the row is created again between its read and its write', async () => {
  await seed({ type: 'Mesh', mesh: '', name: 'default' }, {});
  await seed(timeout, {});
  const id = JSON.stringify(Object.values(timeout));
  const precondition = [{ version: 0, created: 0 }];
  const isTheOther = async (write: () => Promise<unknown>): Promise<void> => {
    const row = await store.get(timeout);
    if (row === undefined) throw new Error('the row is seeded');
    store.beforeWrite = () => void store.rows.set(id, { ...row, creationTime: new Date(7), spec: { by: 'another' } });
    expect(await failure(write())).toContain('it was deleted and created again');
    expect(store.rows.get(id)).toMatchObject({ version: 0, spec: { by: 'another' } });
    store.rows.set(id, row);
  };
  await isTheOther(() => put('MeshTimeout', 'slow', undefined, { precondition }));
  await isTheOther(() => service.delete(typeOf('MeshTimeout'), 'default', 'slow', { ...call, precondition }));
});

it('a PUT creates a partly computed resource without a read, and reads it on an update to keep the computed part', async () => {
  service = serviceOf({ mode: 'zone', zone: null, federated: false });
  const key = { type: 'MeshService', mesh: 'default', name: 'web' };
  await seed({ type: 'Mesh', mesh: '', name: 'default' }, {});
  expect(await put('MeshService', 'other')).toMatchObject({ result: 'created' });
  expect(store.reads).toBe(0);
  const computed = { state: 'Available', identities: [{ type: 'ServiceTag', value: 'web' }], zoneIngress: { port: 10_001 } };
  await seed(key, {}, null, computed);
  const given = { state: 'Unavailable', identities: [], zoneIngress: { address: '10.0.0.1', port: 1, sni: 'other' } };
  expect(await put('MeshService', 'web', { ...valid['MeshService'], ...given })).toMatchObject({ result: 'updated', version: 1 });
  expect((await store.get(key))?.spec).toMatchObject({ ports: [{ port: 80 }], ...computed });
  expect(store.writes).toEqual(['create', 'update']);
});
