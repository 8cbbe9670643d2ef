import { expect, it } from 'vitest';
import { typeOf } from '../../resource/type-registry.ts';
import type { ApiClient, Item } from './api-client.ts';
import { checkedRoute } from './route-conditions.ts';
import type { ServerEvent } from './server-events.ts';

const route = { info: typeOf('HTTPRoute'), mesh: 'shop', name: 'cart' };
const plain: Item = { type: 'HTTPRoute', mesh: 'shop', name: 'cart' };
const checked = (text: string): Item => ({ ...plain, status: { parents: [text] } });

/** A watch that gives these events, and then waits until it is aborted. */
function client(events: ServerEvent[]): Pick<ApiClient, 'watch'> {
  return {
    async *watch(_info, _what, signal) {
      yield* events;
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    },
  };
}

const put = (item: Item): ServerEvent => ({ event: 'put', data: item });
const synced: ServerEvent = { event: 'synced', data: {} };

it('a new route is shown as soon as the leader has checked it', async () => {
  const events = [put(plain), synced, put(checked('new'))];
  expect(await checkedRoute(client(events), route, { isNew: true, limitMs: 60_000 })).toEqual(checked('new'));
});

it('a changed route is shown with its new status, or with the last one if that stays', async () => {
  const changed = [put(checked('old')), synced, put(checked('new'))];
  expect(await checkedRoute(client(changed), route, { isNew: false, limitMs: 60_000 })).toEqual(checked('new'));
  expect(await checkedRoute(client(changed.slice(0, 2)), route, { isNew: false, limitMs: 1 })).toEqual(checked('old'));
});

it('a route that no leader has checked in time has no status', async () => {
  expect(await checkedRoute(client([put(plain), synced]), route, { isNew: true, limitMs: 1 })).toBeNull();
});
