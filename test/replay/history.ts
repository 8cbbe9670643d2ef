// The states of each resource that a sender sent, in order, for the comparison of two senders.
// Invariant: it does not depend on the order between resources, on nonces, or on the split into responses.
import { isDeepStrictEqual } from 'node:util';
import type { JsonObject, Labels } from '../../src/resource/types.ts';
import type { DeltaResponse } from '../../src/wire/kds-messages.ts';
import { resourcesOf } from './recording.ts';

export type State =
  | {
      readonly labels: Labels;
      readonly spec: JsonObject;
      readonly status: JsonObject | undefined;
      /** Hash of the bytes: equal versions mean that even the order of keys is equal. */
      readonly version: string;
    }
  | 'removed';

/** Type → `<name>.<mesh>` → states, oldest first; a type with only empty responses has no names. */
export type History = Readonly<Record<string, Readonly<Record<string, readonly State[]>>>>;

export function historyOf(responses: readonly DeltaResponse[]): History {
  const history: Record<string, Record<string, State[]>> = {};
  for (const response of responses) {
    const ofType = (history[response.typeUrl] ??= {});
    const say = (wireName: string, state: State): void => {
      const states = (ofType[wireName] ??= []);
      if (!isDeepStrictEqual(states.at(-1), state)) states.push(state);
    };
    for (const { wireName, labels, spec, status, version } of resourcesOf(response))
      say(wireName, { labels, spec, status, version });
    for (const wireName of response.removedResources) say(wireName, 'removed');
  }
  return history;
}
