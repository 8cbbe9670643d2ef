// The fault of the recorded zones: one update with a changed status lacks the labels of the resource.
// Invariant: labels that never come back were removed by a user and are no fault.
import type { Labels } from '../../src/resource/types.ts';
import { resourcesOf, type ResponseFrame } from './recording.ts';

/** One resource of one frame that lost labels, with the lost labels. */
export type Loss = { readonly line: number; readonly wireName: string; readonly lost: Labels };

/** Every loss in the messages of one stream. */
export function lossesIn(stream: readonly ResponseFrame[]): Loss[] {
  const sent = new Map<string, { line: number; wireName: string; labels: Labels }[]>();
  for (const { line, response } of stream) {
    for (const { info, wireName, labels } of resourcesOf(response)) {
      const key = `${info.name}/${wireName}`;
      sent.set(key, [...(sent.get(key) ?? []), { line, wireName, labels }]);
    }
  }
  return [...sent.values()].flatMap((states) =>
    states.flatMap(({ line, wireName, labels }, index) => {
      const [before, after] = [states[index - 1]?.labels ?? {}, states[index + 1]?.labels ?? {}];
      const lost = Object.entries(before).filter(([key, value]) => labels[key] === undefined && after[key] === value);
      return lost.length === 0 ? [] : [{ line, wireName, lost: Object.fromEntries(lost) }];
    }),
  );
}
