// The virtual address of a service (policies 2.7): each zone computes it, and stores it in the status of the row. Pure.
import { objectOf, objectsOf } from './read-json.ts';
import type { Resource } from './types.ts';

/**
 * The address at which proxies of the zone call a service.
 * @param resource the row of a MeshService, a MeshMultiZoneService or a MeshExternalService
 * @returns text of an IPv4 or IPv6 address; `''` for none
 */
export function virtualAddress({ type, status }: Pick<Resource, 'type' | 'status'>): string {
  const vip = type === 'MeshExternalService' ? objectOf(status['vip']) : objectsOf(status['vips'])[0];
  return typeof vip?.['ip'] === 'string' ? vip['ip'] : '';
}
