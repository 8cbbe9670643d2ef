// Frames of the recorded session (test/wire/vectors) with lost, changed, doubled and reordered bytes.
import { fc } from '../support/property.ts';
import { requests, responses } from '../replay/recording.ts';

export const requestBytes = requests.map(({ bytes }) => bytes);
export const responseBytes = responses.map(({ bytes }) => bytes);
export const resourceBytes = responses.flatMap(({ response }) => response.resources.map(({ resource }) => Buffer.from(resource)));

/** Bytes of a recorded frame, cut, bent, doubled and mixed with another. */
export function mutated(recorded: readonly Buffer[]): fc.Arbitrary<Buffer> {
  const mutation = fc.oneof(
    fc.record({ do: fc.constant('set' as const), at: fc.nat(), byte: fc.nat(255) }),
    fc.record({ do: fc.constant('cut' as const), at: fc.nat() }),
    fc.record({ do: fc.constant('remove' as const), at: fc.nat(), length: fc.nat(40) }),
    fc.record({ do: fc.constant('insert' as const), at: fc.nat(), bytes: fc.uint8Array({ maxLength: 20 }) }),
    fc.record({ do: fc.constant('double' as const), at: fc.nat(), length: fc.nat(200) }),
    fc.record({ do: fc.constant('mix' as const), at: fc.nat(), other: fc.constantFrom(...recorded) }),
  );
  return fc.tuple(fc.constantFrom(...recorded), fc.array(mutation, { minLength: 1, maxLength: 8 })).map(([frame, mutations]) => {
    let bytes = Buffer.from(frame);
    for (const step of mutations) {
      const at = step.at % (bytes.length + 1);
      const [head, tail] = [bytes.subarray(0, at), bytes.subarray(at)];
      if (step.do === 'set') bytes = Buffer.concat([head, Buffer.from([step.byte]), tail.subarray(1)]);
      else if (step.do === 'cut') bytes = head;
      else if (step.do === 'remove') bytes = Buffer.concat([head, tail.subarray(step.length)]);
      else if (step.do === 'insert') bytes = Buffer.concat([head, step.bytes, tail]);
      else if (step.do === 'double') bytes = Buffer.concat([head, tail.subarray(0, step.length), tail]);
      else bytes = Buffer.concat([head, step.other.subarray(at)]);
    }
    return bytes;
  });
}
