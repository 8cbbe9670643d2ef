// A cached page is used only until the next commit, and the cache is bounded.
import { FairQueue } from '../../src/base/fair-queue.ts';
import { expect, it } from 'vitest';
import { ListPages } from '../../src/api/list-pages.ts';
import { typeOf } from '../../src/resource/type-registry.ts';
import type { ListPage, ListQuery } from '../../src/store/resource-store.ts';
import { makeRow } from '../support/make-row.ts';

const none = (): Promise<void> => Promise.resolve();

class CountingStore {
  state: string | null = 'one';
  reads = 0;
  specBytes = 1;
  total = 1;

  snapshot(): Promise<string | null> {
    return Promise.resolve(this.state);
  }

  listPage({ type }: ListQuery): Promise<ListPage> {
    this.reads += 1;
    const spec = { a: 'x'.repeat(this.specBytes) };
    const rows = [makeRow(type, 'a', { mesh: 'default', spec })];
    return Promise.resolve({ rows, total: this.total, snapshot: this.state });
  }
}

const whereOf = (type: string, nameContains = 'a'): ListQuery => ({ type, mesh: 'default', nameContains });
const page = { size: 100, offset: 0 };
const timeouts = typeOf('MeshTimeout');

it('a page is read once until the next commit, and then again', async () => {
  const store = new CountingStore();
  const lists = new ListPages(store, new FairQueue());
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
])('a page is read each time when %s', async (_, type, state) => {
  const store = new CountingStore();
  store.state = state;
  const lists = new ListPages(store, new FairQueue());
  for (let i = 0; i < 2; i += 1) await lists.page(typeOf(type), whereOf(type), page, none);
  expect(store.reads).toBe(2);
});

it('a page of a missing mesh is an error, and nothing is cached', async () => {
  const store = new CountingStore();
  const lists = new ListPages(store, new FairQueue());
  const missing = (): Promise<void> => Promise.reject(new Error('no such mesh'));
  await expect(lists.page(timeouts, whereOf('MeshTimeout'), page, missing)).rejects.toThrow('no such mesh');
  await expect(lists.page(timeouts, whereOf('MeshTimeout'), page, missing)).rejects.toThrow('no such mesh');
});

it('a page is read once for concurrent requests', async () => {
  const store = new CountingStore();
  store.state = null;
  const lists = new ListPages(store, new FairQueue());
  await Promise.all([1, 2, 3].map(() => lists.page(timeouts, whereOf('MeshTimeout'), page, none)));
  expect(store.reads).toBe(1);
});

it('a page without rows gives the total number of rows', async () => {
  const store = new CountingStore();
  store.listPage = () => Promise.resolve({ rows: [], total: 250, snapshot: 'one' });
  const { total, between } = await new ListPages(store, new FairQueue()).page(timeouts, whereOf('MeshTimeout'), page, none);
  expect([total, between('', '').toString()]).toEqual([250, '[]']);
});

it('the cache keeps few pages with long names, and a large page does not remove the others', async () => {
  const store = new CountingStore();
  const lists = new ListPages(store, new FairQueue());
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

it('the cache keeps the latest requested pages, up to 16 MB of text and bytes', async () => {
  const store = new CountingStore();
  store.specBytes = 1_500_000;
  const lists = new ListPages(store, new FairQueue());
  const ask = async (name: string): Promise<void> => void (await lists.page(timeouts, whereOf('MeshTimeout', name), page, none));
  for (const name of ['1', '2', '3', '4', '5', '1', '6']) await ask(name);
  expect(store.reads).toBe(6);
  await ask('1');
  expect(store.reads).toBe(6);
  await ask('2');
  expect(store.reads).toBe(7);
});
