// `snis[]` of the service types: which server name stands for which port (policies 9.2, decisions D36).
// Invariant: the first of a MeshService is the one in its `spec.zoneIngress`, because both come from `serviceSni`.
import { serviceSni } from '../resource/sni.ts';
import type { Json, JsonObject, Resource } from '../resource/types.ts';

const SERVICE_TYPES = new Set(['MeshService', 'MeshExternalService', 'MeshMultiZoneService']);

export function hasSnis(type: string): boolean {
  return SERVICE_TYPES.has(type);
}

/** Sorted by port; empty for what is no service. */
export function snisOf(resource: Resource): JsonObject[] {
  const ports = [...new Set(portsOf(resource.spec))].sort((a, b) => a - b);
  return ports.flatMap((port) => {
    const sni = serviceSni(resource, port);
    return sni === null ? [] : [{ port, sni }];
  });
}

function portsOf(spec: JsonObject): number[] {
  const items = [...listOf(spec['ports']), spec['match']];
  return items.flatMap((item) => {
    const port = isObject(item) ? item['port'] : undefined;
    return typeof port === 'number' ? [port] : [];
  });
}

function listOf(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : [];
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
