// `snis[]` of the service types: the server names of each port. Each port has two: the one that Kuma zones match, and the hashed one
// of Meridian. Invariant: the hashed one of a MeshService equals that of its `spec.zoneIngress`, because both come from `serviceSni`.
import { objectOf } from '../resource/read-json.ts';
import { kumaSni, serviceSni } from '../resource/sni.ts';
import type { JsonObject, Resource } from '../resource/types.ts';

/** The server names by port, Kuma's form before the hashed one. Types other than services have none. */
export function snisOf(resource: Resource): JsonObject[] {
  return portsOf(resource.spec)
    .toSorted((a, b) => a.port - b.port)
    .flatMap(({ port, section }) => {
      const forms = [kumaSni(resource, section), serviceSni(resource, port)];
      return forms.flatMap((sni) => (sni === null ? [] : [{ port, sni }]));
    });
}

/** The ports, each once, with its name, else its number as text. */
function portsOf({ ports, match }: JsonObject): { readonly port: number; readonly section: string }[] {
  const found = new Map<number, string>();
  for (const item of [...(Array.isArray(ports) ? ports : []), match]) {
    const { port, name } = objectOf(item);
    if (typeof port !== 'number' || found.has(port)) continue;
    found.set(port, typeof name === 'string' && name !== '' ? name : String(port));
  }
  return [...found].map(([port, section]) => ({ port, section }));
}
