// The route configurations that a listener asks for by RDS, read from its bytes: listeners have the names of their places.
import { lengthTag, readFields } from '../../src/wire/fields.ts';

/** Field numbers from a Listener to the name: filter_chains, filters, typed_config, value, HttpConnectionManager.rds, route_config_name. */
const PATH = [3, 3, 4, 2, 3, 2];
const ANY = 3;

/** @param listener envoy.config.listener.v3.Listener */
export function routesInListener(listener: Uint8Array): string[] {
  return [...new Set(namesAt(listener, 0))];
}

function namesAt(bytes: Uint8Array, depth: number): string[] {
  const [field] = PATH.slice(depth);
  if (field === undefined) return [Buffer.from(bytes).toString()];
  const found: Uint8Array[] = [];
  let isOfHttp = true;
  readFields(bytes, (tag, reader) => {
    if (depth === ANY && tag === lengthTag(1)) isOfHttp = reader.string().endsWith('.HttpConnectionManager');
    else if (tag === lengthTag(field)) found.push(reader.bytes());
    else return false;
    return true;
  });
  return isOfHttp ? found.flatMap((inner) => namesAt(inner, depth + 1)) : [];
}
