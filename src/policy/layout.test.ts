import { expect, it } from 'vitest';
import { makeDataplane } from '../../test/policy/make-resource.ts';
import type { JsonObject } from '../resource/types.ts';
import { layoutView } from './inspect-view.ts';
import { MeshIndex } from './mesh-index.ts';

it('the layout of a proxy has its inbounds and the listeners of its zone proxy apart', () => {
  const row = makeDataplane('d', {}, { zoneIngress: { port: 1, name: 'in' }, zoneEgress: { port: 2 } });
  const index = new MeshIndex('default', [row]);
  const proxy = index.proxy('d');
  if (proxy === undefined) throw new Error('no proxy');
  const { inbounds, listeners } = layoutView(index, proxy) as { inbounds: JsonObject[]; listeners: JsonObject[] };
  expect(inbounds.map(({ kri, port }) => [kri, port])).toEqual([['kri_dp_default___d_http', 8080]]);
  expect(listeners.map(({ kri, type }) => [kri, type])).toEqual([
    ['kri_dp_default___d_in', 'ZoneIngress'],
    ['kri_dp_default___d_2', 'ZoneEgress'],
  ]);
});
