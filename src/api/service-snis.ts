// `snis[]` of the service types: which server names stand for which port. Each port has two: the one that Kuma zones match, and the
// hashed one of Meridian. Invariant: the hashed one of a MeshService is that in its `spec.zoneIngress`, both come from `serviceSni`.
import { kumaSni, serviceSni } from '../resource/sni.ts';
import type { Json, JsonObject, Resource } from '../resource/types.ts';

const SERVICE_TYPES = new Set(['MeshService', 'MeshExternalService', 'MeshMultiZoneService']);

export function hasSnis(type: string): boolean {
  return SERVICE_TYPES.has(type);
}

/** Sorted by port, Kuma's form before the hashed one. Empty for types other than services. */
export function snisOf(resource: Resource): JsonObject[] {
  return portsOf(resource.spec)
    .toSorted((a, b) => a.port - b.port)
    .flatMap(({ port, section }) => {
      const forms = [kumaSni(resource, section), serviceSni(resource, port)];
      return forms.flatMap((sni) => (sni === null ? [] : [{ port, sni }]));
    });
}

/** Each port once, with the text that names it: its name, else its number. */
function portsOf(spec: JsonObject): { readonly port: number; readonly section: string }[] {
  const found = new Map<number, string>();
  for (const item of [...listOf(spec['ports']), spec['match']]) {
    const { port, name } = isObject(item) ? item : {};
    if (typeof port !== 'number' || found.has(port)) continue;
    found.set(port, typeof name === 'string' && name !== '' ? name : String(port));
  }
  return [...found].map(([port, section]) => ({ port, section }));
}

function listOf(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : [];
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
