// The ports of a service as sections of its KRI: name, else the port as text (policies 2.7 to 2.9, 3.1).
import type { Resource } from '../resource/types.ts';
import { numberOf, objectOf, objectsOf, textOf } from '../resource/read-json.ts';

export type ServicePort = { readonly section: string; readonly port: number; readonly protocol: string };

const SERVICE_TYPES: ReadonlySet<string> = new Set(['MeshService', 'MeshExternalService', 'MeshMultiZoneService']);

export function isServiceType(type: string): boolean {
  return SERVICE_TYPES.has(type);
}

/** Ports of a MeshService, MeshMultiZoneService or MeshExternalService; empty for every other type. */
export function servicePorts({ type, spec }: Resource): ServicePort[] {
  if (type === 'MeshExternalService') {
    const match = objectOf(spec['match']);
    const port = numberOf(match['port']);
    return port === 0 ? [] : [{ section: String(port), port, protocol: textOf(match['protocol']) || 'tcp' }];
  }
  if (!isServiceType(type)) return [];
  return objectsOf(spec['ports']).map((given) => {
    const port = numberOf(given['port']);
    return { section: textOf(given['name']) || String(port), port, protocol: textOf(given['appProtocol']) || 'tcp' };
  });
}
