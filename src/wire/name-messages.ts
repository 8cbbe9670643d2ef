// The names of a proxy on the stream of its launcher: `meridian.proxy.v1.ProxyNames/DeltaNames`, a stream of delta xDS with one type. A
// resource has the hostname as its name.
import { decoding, createWriter, finish, lengthTag, readFields, readText, writeText } from './fields.ts';

export const NAMES_METHOD = '/meridian.proxy.v1.ProxyNames/DeltaNames';
export const NAME_TYPE_URL = 'type.googleapis.com/meridian.proxy.v1.Name';

/** Message `Name {repeated string addresses = 1; repeated string places = 2;}`. */
type NameMessage = {
  /** IPv4 or IPv6, as text. */
  readonly addresses: readonly string[];
  /** Names of the listeners behind the name in Envoy: `address:port`. */
  readonly places: readonly string[];
};

export function encodeName({ addresses, places }: NameMessage): Buffer {
  const writer = createWriter();
  for (const address of addresses) writeText(writer, 1, address);
  for (const place of places) writeText(writer, 2, place);
  return finish(writer);
}

/** @throws Error on bytes that are no Name */
export function decodeName(bytes: Uint8Array): NameMessage {
  const addresses: string[] = [];
  const places: string[] = [];
  return decoding('a Name', () => {
    readFields(bytes, (tag, reader) => {
      if (tag === lengthTag(1)) addresses.push(readText(reader));
      else if (tag === lengthTag(2)) places.push(readText(reader));
      else return false;
      return true;
    });
    return { addresses, places };
  });
}
