// How another zone reaches a MeshService: the address and SNI that its zone has published (MADR 095, D20, D27). Pure. Invariant:
// `spec.zoneIngress` takes precedence; a MeshZoneAddress serves zones that do not publish it.
import { compareText } from '../base/compare-text.ts';
import { at, items } from './schema/json-access.ts';
import { isObject } from './read-json.ts';
import { zoneNamed } from './ownership.ts';
import { serviceSni } from './sni.ts';
import type { Json, JsonObject, Labels, ResourceKey } from './types.ts';

/** `sni` is that of the first port; the others follow by the same formula (D20). */
export type Reach = { readonly address: string; readonly port: number; readonly sni: string };

type Row = ResourceKey & { readonly labels: Labels; readonly spec: JsonObject };

/**
 * The way to a MeshService from outside of its zone: its `spec.zoneIngress`, else the MeshZoneAddress of its zone and mesh with
 * the smallest name; null when that zone has published neither, or the service has no port.
 * @param addresses the MeshZoneAddresses that the own store has
 */
export function reachOf(service: Row, addresses: readonly Row[]): Reach | null {
  const published = at(service.spec, 'zoneIngress');
  const sni = at(published, 'sni');
  const place = placeOf(published);
  if (place !== null && typeof sni === 'string' && sni !== '') return { ...place, sni };
  const zone = zoneNamed(service.labels);
  if (zone === undefined) return null;
  const [first] = addresses
    .filter(({ mesh, labels }) => mesh === service.mesh && zoneNamed(labels) === zone)
    .sort((a, b) => compareText(a.name, b.name));
  const firstPlace = placeOf(first?.spec);
  const firstSni = firstPortSni(service);
  return firstPlace === null || firstSni === null ? null : { ...firstPlace, sni: firstSni };
}

/** Null without ports. */
export function firstPortSni(service: Row): string | null {
  const port = at(items(service.spec['ports'])[0], 'port');
  return typeof port === 'number' && port > 0 ? serviceSni(service, port) : null;
}

function placeOf(given: Json | undefined): { address: string; port: number } | null {
  if (!isObject(given)) return null;
  const { address, port } = given;
  return typeof address === 'string' && address !== '' && typeof port === 'number' && port > 0 ? { address, port } : null;
}
