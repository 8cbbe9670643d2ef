// The problems of applications that do not answer, from the rows of a store.
import { expect, it } from 'vitest';
import { TinyStore } from '../../test/support/tiny-store.ts';
import { applicationProblems } from './application-problems.ts';

const unready = { port: 8000, servicePort: 8080, state: 'NotReady', health: { ready: false } };

async function storeWith(count: number, zone: string, inbound: object = unready): Promise<TinyStore> {
  const store = new TinyStore();
  for (let at = 0; at < count; at += 1) {
    const key = { type: 'Dataplane', mesh: 'shop', name: `cart-${String(at)}` };
    const spec = { networking: { address: '10.0.0.7', inbound: [{ ...inbound }] } };
    await store.write({ op: 'put', key, labels: { 'kuma.io/zone': zone }, spec });
  }
  return store;
}

it('a mesh whose applications answer has none', async () => {
  expect(await applicationProblems(await storeWith(2, 'east', { port: 8000 }))).toEqual([]);
  expect(await applicationProblems(await storeWith(2, 'east', { port: 8000, state: 'NotReady' }))).toEqual([]);
});

it('the silent applications of a zone in a mesh are one problem, which names the first of them', async () => {
  const [problem, ...others] = await applicationProblems(await storeWith(7, 'east'));
  expect(others).toEqual([]);
  expect(problem).toMatchObject({ id: 'applicationSilent/east/shop', zone: 'east', mesh: 'shop', count: 7 });
  expect(problem?.resources).toEqual(['cart-0', 'cart-1', 'cart-2', 'cart-3', 'cart-4']);
  expect(problem?.message).toMatch(
    /^mesh shop in zone east: cart-0: the application of inbound 8000 does not answer on 10\.0\.0\.7:8080: start it, .*; and 4 more$/,
  );
});
