import { expect, it, vi } from 'vitest';
import { makeDataplane, makeService, makeTo } from '../../test/policy/make-resource.ts';
import type { ProxyEvent } from '../ads/proxy-events.ts';
import { createLogger } from '../base/log.ts';
import { MeshIndex } from '../policy/mesh-index.ts';
import { unknownProxy, type ProxyState } from './dataplane-insight.ts';
import { observeRefusals } from './proxy-refusals.ts';

const index = new MeshIndex('default', [
  makeDataplane('web', { zone: 'east' }),
  makeService('cart', { zone: 'east', namespace: 'shop' }),
  makeTo('MeshTimeout', 'all', { kind: 'Mesh' }, { connectionTimeout: '5s' }),
]);
const CART = 'kri_msvc_default_east_shop_cart_80';

it('an answer that refuses much is one change of the insight, and has a bounded number of lines in the log', async () => {
  const names = [CART, ...Array.from({ length: 99 }, (_, at) => `cluster-${String(at)}`)];
  const refusals = names.map((name) => ({ type: 'Cluster', name, version: 'v1', reason: 'no port' }) as const);
  const refused = refusals.map((one) => ({ ...one, time: new Date(0), policies: null }));
  let state: ProxyState = { ...unknownProxy, troubles: { refused, problems: [] } };
  const change = vi.fn((_: unknown, fold: (known: ProxyState) => ProxyState) => void (state = fold(state)));
  const lines: string[] = [];
  const log = createLogger('warn', {}, { write: (line) => void lines.push(line) });
  const observe = observeRefusals({ indexes: { indexOf: async () => index }, insights: { change }, log });
  observe({ kind: 'refused', mesh: 'default', name: 'web.east', refusals, standing: refusals } as unknown as ProxyEvent);
  await vi.waitFor(() => expect(lines).toHaveLength(21));
  expect(change).toHaveBeenCalledTimes(1);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ resource: CART, policies: [expect.stringContaining('_all_') as string] });
  expect(JSON.parse(lines[20] ?? '')).toMatchObject({ more: 80 });
  expect(state.troubles?.refused.map(({ policies }) => policies?.length)).toEqual([1, ...Array.from({ length: 99 }, () => 0)]);
});
