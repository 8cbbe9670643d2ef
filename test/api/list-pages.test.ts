// A cached page is used only until the next commit, and the cache is bounded.
import { expect, it } from 'vitest';
import { ListPages } from '../../src/api/list-pages.ts';
import { typeOf } from '../../src/resource/type-registry.ts';
import type { ResourceKey } from '../../src/resource/types.ts';
import type { ListQuery, VersionPage, VersionedRow } from '../../src/store/resource-store.ts';
import { makeRow } from '../support/make-row.ts';

const none = (): Promise<void> => Promise.resolve();

class CountingStore {
  state: string | null = 'one';
  reads = 0;
  specBytes = 1;
  total = 1;
  /** Called when rows are read, after the page said which. */
  hint: (() => void) | null = null;

  snapshot(): Promise<string | null> {
    return Promise.resolve(this.state);
  }

  listVersions({ type }: ListQuery): Promise<VersionPage> {
    this.reads += 1;
    const rowVersions = [{ type, mesh: 'default', name: 'a', rowVersion: this.#rowVersion() }];
    return Promise.resolve({ rowVersions, total: this.total, snapshot: this.state });
  }

  getVersioned(keys: readonly ResourceKey[]): Promise<VersionedRow[]> {
    this.hint?.();
    const spec = { a: 'x'.repeat(this.specBytes) };
    return Promise.resolve(
      keys.map(({ type }) => ({ row: makeRow(type, 'a', { mesh: 'default', spec }), rowVersion: this.#rowVersion() })),
    );
  }

  #rowVersion(): string {
    return `${String(this.state)} ${String(this.reads)}`;
  }
}

const whereOf = (type: string, nameContains = 'a'): ListQuery => ({ type, mesh: 'default', nameContains });
const page = { size: 100, offset: 0 };
const timeouts = typeOf('MeshTimeout');

it('is read once while nothing is committed, and again after that', async () => {
  const store = new CountingStore();
  const lists = new ListPages(store);
  const ask = async (): Promise<string> =>
    (await lists.page(timeouts, whereOf('MeshTimeout'), page, none)).between('', '').toString();
  const first = await ask();
  expect(await ask()).toBe(first);
  expect(store.reads).toBe(1);
  store.state = 'two';
  await ask();
  await ask();
  expect(store.reads).toBe(2);
});

it.each([
  ['the database cannot tell what was committed', 'MeshTimeout', null],
  ['it shows secrets', 'Secret', 'one'],
])('is read each time when %s', async (_, type, state) => {
  const store = new CountingStore();
  store.state = state;
  const lists = new ListPages(store);
  for (let i = 0; i < 2; i += 1) await lists.page(typeOf(type), whereOf(type), page, none);
  expect(store.reads).toBe(2);
});

it('reports a mesh that does not exist, and caches nothing', async () => {
  const store = new CountingStore();
  const lists = new ListPages(store);
  const missing = (): Promise<void> => Promise.reject(new Error('no such mesh'));
  await expect(lists.page(timeouts, whereOf('MeshTimeout'), page, missing)).rejects.toThrow('no such mesh');
  await expect(lists.page(timeouts, whereOf('MeshTimeout'), page, missing)).rejects.toThrow('no such mesh');
});

it('is read again where one of its rows changed while it was read', async () => {
  const store = new CountingStore();
  const lists = new ListPages(store);
  store.hint = () => (store.state = 'two');
  await lists.page(timeouts, whereOf('MeshTimeout'), page, none);
  store.state = 'one';
  store.hint = null;
  await lists.page(timeouts, whereOf('MeshTimeout'), page, none);
  expect(store.reads).toBe(2);
});

it('says how many rows there are although one of its own goes while it is read: it is not the last page', async () => {
  const store = new CountingStore();
  store.total = 250;
  store.getVersioned = () => Promise.resolve([]);
  const { total, between } = await new ListPages(store).page(timeouts, whereOf('MeshTimeout'), page, none);
  expect([total, between('', '').toString()]).toEqual([250, '[]']);
});

it('keeps few pages under long names, and one that is large leaves the others', async () => {
  const store = new CountingStore();
  const lists = new ListPages(store);
  const ask = async (name: string): Promise<void> => void (await lists.page(timeouts, whereOf('MeshTimeout', name), page, none));
  await ask('first');
  store.specBytes = 3_000_000;
  await ask('large');
  store.specBytes = 1;
  await ask('first');
  expect(store.reads).toBe(2);
  for (let name = 0; name < 16; name += 1) await ask(`${String(name)}${'x'.repeat(1_000_000)}`);
  await ask('first');
  expect(store.reads).toBe(19);
});

it('keeps the pages that were asked for last, up to 16 MB as text and bytes', async () => {
  const store = new CountingStore();
  store.specBytes = 1_500_000;
  const lists = new ListPages(store);
  const ask = async (name: string): Promise<void> => void (await lists.page(timeouts, whereOf('MeshTimeout', name), page, none));
  for (const name of ['1', '2', '3', '4', '5', '1', '6']) await ask(name);
  expect(store.reads).toBe(6);
  await ask('1');
  expect(store.reads).toBe(6);
  await ask('2');
  expect(store.reads).toBe(7);
});
