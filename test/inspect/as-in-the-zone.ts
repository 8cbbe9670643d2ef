// Makes inspect answers of two control planes comparable.
import { displayNameOf } from '../../src/resource/labels.ts';

/**
 * The answer with display names, and with the origins in the zone of the proxy: there a resource of another zone has origin global.
 * Stored names and origin labels are those of the answering control plane.
 */
export function asInTheZone(body: unknown, zone: string): unknown {
  if (Array.isArray(body)) return body.map((item) => asInTheZone(item, zone));
  if (typeof body !== 'object' || body === null) return body;
  const fields = Object.fromEntries(Object.entries(body).map(([key, value]) => [key, asInTheZone(value, zone)]));
  const { type, mesh: _mesh, name, labels, ...more } = fields;
  if (typeof type !== 'string' || typeof name !== 'string' || typeof labels !== 'object' || Object.keys(more).length > 0)
    return fields;
  const given = labels as Record<string, string>;
  const home = given['kuma.io/zone'] ?? zone;
  return {
    ...fields,
    name: displayNameOf({ name, labels: given }),
    labels: { ...given, ...(home !== zone && { 'kuma.io/origin': 'global' }) },
  };
}
