// A call of a fake zone that reads and sends bundles, as a zone does: its messages of one turn of the event loop leave as one.
import { takeEach } from '../src/kds/bundles.ts';
import { encodeBundle } from '../src/wire/bundle.ts';
import { toBuffer } from '../src/wire/fields.ts';
import type { GrpcCall, GrpcCallOptions, GrpcConnection } from './grpc-connection.ts';

export function openBundled(connection: GrpcConnection, options: GrpcCallOptions): GrpcCall {
  const call = connection.open({
    ...options,
    onMessage: (bytes) => void takeEach(bytes, (message) => options.onMessage(toBuffer(message))),
  });
  let waiting: Buffer[] = [];
  return {
    write: (message) => {
      if (waiting.length === 0)
        setImmediate(() => {
          const [first] = waiting;
          if (first !== undefined) call.write(waiting.length === 1 ? first : encodeBundle(waiting));
          waiting = [];
        });
      waiting.push(message);
    },
  };
}
