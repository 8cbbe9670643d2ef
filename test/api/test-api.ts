// A REST API over a store, as one of the three kinds of control plane, for tests.
import type { FastifyInstance } from 'fastify';
import { Registry } from 'prom-client';
import { systemClock } from '../../src/base/clock.ts';
import type { ApiOptions } from '../../src/api/api-options.ts';
import { createApi } from '../../src/api/create-api.ts';
import { MeridianError } from '../../src/base/errors.ts';
import { createLogger } from '../../src/base/log.ts';
import { meshDefaults } from '../../src/defaults/create-defaults.ts';
import type { ResourceStore } from '../../src/store/resource-store.ts';

/** `zone` is called east and has a global; `alone` is called east and has none. */
export type Place = 'global' | 'zone' | 'alone';

export function testApi(store: ResourceStore, place: Place, more: Partial<ApiOptions> = {}): FastifyInstance {
  const mode = place === 'global' ? 'global' : 'zone';
  return createApi({
    store,
    mode,
    zone: mode === 'zone' ? 'east' : null,
    federated: place === 'zone',
    product: 'Meridian',
    productVersion: '0.1.0-preview',
    instanceId: 'cp-1',
    clusterId: async () => 'cluster-1',
    readOnly: false,
    config: { mode, store: { type: 'postgres', postgres: { password: '*****' } } },
    metrics: new Registry(),
    clock: systemClock,
    log: createLogger('silent'),
    proxyAdmin: () => Promise.reject(new MeridianError('unavailable', 'zone "east" is offline')),
    meshDefaults: (mesh) => meshDefaults(store, mesh, mode === 'zone' ? { mode, zone: 'east' } : { mode }),
    allowedHosts: ['cp', 'cp.example'],
    ...more,
  });
}
