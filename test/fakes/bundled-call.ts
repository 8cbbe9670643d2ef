// A call of a fake zone that reads and sends bundles, as a zone does: its messages of one turn of the event loop leave as one, with the types in
// which global is in step.
import { takeEach } from '../../src/kds/protocol/bundles.ts';
import { encodeBundle } from '../../src/wire/bundle.ts';
import { toBuffer } from '../../src/wire/fields.ts';
import { encodeInStep } from '../../src/wire/in-step.ts';
import type { GrpcCall, GrpcCallOptions, GrpcConnection } from './grpc-connection.ts';

export type BundledCall = GrpcCall & {
  /** Global has everything of this type. */
  readonly sayInStep: (type: string) => void;
};

export function openBundled(connection: GrpcConnection, options: GrpcCallOptions): BundledCall {
  const call = connection.open({
    ...options,
    onMessage: (bytes) => void takeEach(bytes, (message) => options.onMessage(toBuffer(message))),
  });
  let waiting: Buffer[] = [];
  let inStep: string[] = [];
  let isScheduled = false;
  const flush = (): void => {
    isScheduled = false;
    const messages = inStep.length > 0 ? [...waiting, encodeInStep(inStep)] : waiting;
    const [first] = messages;
    if (first !== undefined) call.write(messages.length === 1 ? first : encodeBundle(messages));
    [waiting, inStep] = [[], []];
  };
  const schedule = (): void => {
    if (!isScheduled) setImmediate(flush);
    isScheduled = true;
  };
  return {
    write: (message) => {
      waiting.push(message);
      schedule();
    },
    sayInStep: (type) => {
      inStep.push(type);
      schedule();
    },
  };
}
