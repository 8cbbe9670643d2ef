// The columns of `meridian get meshservices`: ports, hostnames and ingress.
import { at, items, textAt } from '../../resource/json-access.ts';
import type { Json } from '../../resource/types.ts';
import type { Column } from './table.ts';

/** Additional columns. Hostnames are those of the asked zone, on global those of the service's own zone. */
export const meshServiceColumns: readonly Column[] = [
  { head: 'PORTS', of: ({ spec }) => listed(items(at(spec, 'ports')).map(portText)) },
  {
    head: 'HOSTNAMES',
    of: ({ status }) => firstOf(items(at(status, 'addresses')).map((address) => textAt(address, 'hostname'))),
  },
  { head: 'INGRESS', of: ({ spec }) => placeText(at(spec, 'zoneIngress')) },
];

/** `80/http`; the protocol is tcp if none is set. */
function portText(port: Json): string {
  return `${textAt(port, 'port')}/${textAt(port, 'appProtocol') || 'tcp'}`;
}

/** `192.0.2.1:10001`, `[2001:db8::1]:10001`, or `-`. */
export function placeText(place: Json | undefined): string {
  const address = textAt(place, 'address');
  if (address === '') return '-';
  return `${address.includes(':') ? `[${address}]` : address}:${textAt(place, 'port')}`;
}

function listed(texts: readonly string[]): string {
  const given = texts.filter((text) => text !== '');
  return given.length === 0 ? '-' : given.join(',');
}

/** The first name, and the number of others: names are long. */
function firstOf(names: readonly string[]): string {
  const [first, ...others] = names.filter((name) => name !== '');
  if (first === undefined) return '-';
  return others.length === 0 ? first : `${first} +${String(others.length)}`;
}
