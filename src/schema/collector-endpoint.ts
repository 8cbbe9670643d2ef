// The old address of an OpenTelemetry collector, `HOST[:PORT]`: read by the checks of a write and by the configuration of proxies. Pure.
import { isIP } from 'node:net';
import { isDnsName } from '../resource/dns-name.ts';

export type CollectorEndpoint = { readonly host: string; readonly port: number };

/** The port of a collector that names none. */
export const COLLECTOR_PORT = 4317;
export const COLLECTOR_ENDPOINT_FORM =
  'a host and a port from 1 to 65535, such as "otel.example:4317" or "[fd00::5]:4317", without a scheme or a path';

/** Returns null for a text of another form. An IPv6 address is in brackets, because its last group looks like a port. */
export function parseCollectorEndpoint(text: string): CollectorEndpoint | null {
  const match = /^(?:\[([^\]]*)\]|([^:[\]]+))(?::([1-9]\d{0,4}))?$/.exec(text);
  if (match === null) return null;
  const [, ipv6, name = '', digits = String(COLLECTOR_PORT)] = match;
  const port = Number(digits);
  if (port > 65_535) return null;
  if (ipv6 !== undefined) return isIP(ipv6) === 6 ? { host: ipv6, port } : null;
  return isIP(name) === 4 || isHostName(name.toLowerCase()) ? { host: name, port } : null;
}

/** A name whose last label is a number is an IPv4 address that cannot be read. */
function isHostName(name: string): boolean {
  return isDnsName(name) && !/(^|\.)\d+$/.test(name);
}
