// The log of the reconciler of services, and its default grace period.
import { expect, it, vi } from 'vitest';
import { makeRow } from '../../../test/support/make-row.ts';
import { createLogger } from '../../base/log.ts';
import type { Resource } from '../../resource/types.ts';
import { servicesReconciler } from './services-reconciler.ts';

const dataplane = (name: string, port: number): Resource =>
  makeRow('Dataplane', name, { spec: { networking: { inbound: [{ port, tags: { 'kuma.io/service': 'cart' } }] } } });

it('Dataplanes of one service with different ports are reported once, until others differ', () => {
  const log = createLogger('silent');
  const warn = vi.spyOn(log, 'warn');
  const { view, plan } = servicesReconciler({ zone: 'east', log });
  const put = (...rows: Resource[]): void => {
    for (const row of rows) view.put(row);
    plan({ now: new Date(0), elapsed: 0 });
  };
  const reported = (): unknown => warn.mock.calls.map(([about]) => (about as { dataplanes: string[] }).dataplanes);
  put(makeRow('Mesh', 'default'), dataplane('a', 80), dataplane('b', 81));
  expect(reported()).toEqual([['b']]);
  put(dataplane('b', 82));
  expect(reported()).toEqual([['b']]);
  put(dataplane('c', 83));
  expect(reported()).toEqual([['b'], ['b', 'c']]);
});

it('a generated service stays for an hour without its Dataplanes', () => {
  const { view, plan } = servicesReconciler({ zone: 'east', log: createLogger('silent') });
  for (const row of [makeRow('Mesh', 'default'), dataplane('a', 80)]) view.put(row);
  const [write] = plan({ now: new Date(0), elapsed: 0 }).writes;
  if (write?.op !== 'put') throw new Error('no service');
  view.accept(write.row);
  view.remove({ type: 'Dataplane', mesh: 'default', name: 'a' });
  expect(plan({ now: new Date(0), elapsed: 5 }).waitMs).toBe(3_600_000);
});

it('services without a free address are reported with their number', () => {
  const log = createLogger('silent');
  const error = vi.spyOn(log, 'error');
  const networks = { MeshService: '241.0.0.0/32', MeshExternalService: '242.0.0.0/8', MeshMultiZoneService: '243.0.0.0/8' };
  const { view, plan } = servicesReconciler({ zone: 'east', log, vipNetworks: networks });
  const service = (name: string): Resource => makeRow('MeshService', name, { labels: { 'kuma.io/origin': 'zone' } });
  for (const row of [makeRow('Mesh', 'default'), service('a')]) view.put(row);
  plan({ now: new Date(0), elapsed: 0 });
  expect(error).not.toHaveBeenCalled();
  for (const name of ['b', 'c']) view.put(service(name));
  plan({ now: new Date(0), elapsed: 0 });
  expect(error).toHaveBeenCalledExactlyOnceWith({ services: 2 }, expect.stringContaining('all virtual addresses are in use'));
});
