// A page that is kept is given out only while nothing was committed, and what is kept is bounded.
import { expect, it } from 'vitest';
import { ListPages } from '../../src/api/list-pages.ts';
import { typeOf } from '../../src/resource/type-registry.ts';
import type { ListQuery } from '../../src/store/resource-store.ts';
import { makeRow } from '../support/make-row.ts';

const none = (): Promise<void> => Promise.resolve();

class CountingStore {
  state: string | null = 'one';
  reads = 0;
  specBytes = 1;

  snapshot(): Promise<string | null> {
    return Promise.resolve(this.state);
  }

  listStamps({ type }: ListQuery): Promise<{ type: string; mesh: string; name: string; stamp: string }[]> {
    this.reads += 1;
    return Promise.resolve([{ type, mesh: 'default', name: 'a', stamp: `${String(this.state)} ${String(this.reads)}` }]);
  }

  getMany(keys: readonly { type: string }[]): Promise<ReturnType<typeof makeRow>[]> {
    return Promise.resolve(
      keys.map(({ type }) => makeRow(type, 'a', { mesh: 'default', spec: { a: 'x'.repeat(this.specBytes) } })),
    );
  }

  count(): Promise<number> {
    return Promise.resolve(1);
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

it('tells of a mesh that does not exist, and keeps nothing', async () => {
  const store = new CountingStore();
  const lists = new ListPages(store);
  const missing = (): Promise<void> => Promise.reject(new Error('no such mesh'));
  await expect(lists.page(timeouts, whereOf('MeshTimeout'), page, missing)).rejects.toThrow('no such mesh');
  await expect(lists.page(timeouts, whereOf('MeshTimeout'), page, missing)).rejects.toThrow('no such mesh');
});

it('keeps the pages that were asked for last, up to 16 MB as text and bytes', async () => {
  const store = new CountingStore();
  store.specBytes = 3_000_000;
  const lists = new ListPages(store);
  const ask = async (name: string): Promise<void> => void (await lists.page(timeouts, whereOf('MeshTimeout', name), page, none));
  for (const name of ['first', 'second', 'first', 'third']) await ask(name);
  expect(store.reads).toBe(3);
  await ask('first');
  expect(store.reads).toBe(3);
  await ask('second');
  expect(store.reads).toBe(4);
});
