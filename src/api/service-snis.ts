// `snis[]` of the service types: which server name stands for which port (policies 9.2, decisions D36).
// Invariant: the same service has the same names on every control plane, whatever its copy is called there.
import { fnv1a64 } from '../resource/hash-name.ts';
import { displayNameOf, label } from '../resource/labels.ts';
import { SYSTEM_NAMESPACE } from '../resource/policy-role.ts';
import type { Json, JsonObject, Resource } from '../resource/types.ts';

const SUFFIXES: Readonly<Record<string, string>> = {
  MeshService: 'ms',
  MeshExternalService: 'mes',
  MeshMultiZoneService: 'mzms',
};
const LONGEST_PART = 62;

export function hasSnis(type: string): boolean {
  return Object.hasOwn(SUFFIXES, type);
}

/** Sorted by port; empty for what is no service. */
export function snisOf(resource: Resource): JsonObject[] {
  const suffix = SUFFIXES[resource.type];
  if (suffix === undefined) return [];
  const name = nameInSni(resource);
  const ports = [...new Set(portsOf(resource.spec))].sort((a, b) => a - b);
  return ports.map((port) => ({ port, sni: sniOf(name, resource.mesh, port, suffix) }));
}

/** `a` + 16 hex digits + `.name.port.mesh.suffix`; the hash is over names that are not cut. */
export function sniOf(name: string, mesh: string, port: number, suffix: string): string {
  const digits = fnv1a64(`${name};${mesh};`).toString(16).padStart(16, '0');
  return `a${digits}.${cut(name)}.${String(port)}.${cut(mesh)}.${suffix}`;
}

function nameInSni(resource: Resource): string {
  const name = displayNameOf(resource);
  const namespace = resource.labels[label.namespace];
  if (resource.type !== 'MeshService' || namespace === undefined || namespace === '' || namespace === SYSTEM_NAMESPACE)
    return name;
  return `${name}.${namespace}`;
}

function portsOf(spec: JsonObject): number[] {
  const items = [...listOf(spec['ports']), spec['match']];
  return items.flatMap((item) => {
    const port = isObject(item) ? item['port'] : undefined;
    return typeof port === 'number' ? [port] : [];
  });
}

function cut(text: string): string {
  const bytes = Buffer.from(text, 'utf8');
  return bytes.length <= LONGEST_PART ? text : `${bytes.toString('utf8', 0, LONGEST_PART)}x`;
}

function listOf(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : [];
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
