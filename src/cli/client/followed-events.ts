// The events of a control plane, also across its restarts: a stream that broke off goes on after its last event. Invariant: a stream that was
// refused, or that never began, is not tried again.
import { systemClock, type Clock } from '../../base/clock.ts';
import { MeridianError } from '../../base/errors.ts';
import { note } from '../output.ts';
import type { ApiClient } from './api-client.ts';
import type { ServerEvent } from './server-events.ts';

const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 10_000;

type Options = { readonly clock: Clock; readonly say: (text: string) => void };

/** @param topics all if there are none. @param say reports an outage and its end */
export async function* followEvents(
  client: Pick<ApiClient, 'events'>,
  topics: readonly string[],
  signal: AbortSignal,
  { clock, say }: Options = { clock: systemClock, say: note },
): AsyncGenerator<ServerEvent> {
  let lastId = '';
  let pause = FIRST_PAUSE_MS;
  let isLost = false;
  while (!signal.aborted) {
    try {
      for await (const event of client.events(topics, lastId, signal, (id) => (lastId = id))) {
        if (isLost) say('the control plane is back');
        isLost = false;
        pause = FIRST_PAUSE_MS;
        yield event;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (lastId === '' || !(error instanceof MeridianError) || error.code !== 'unavailable') throw error;
      if (!isLost) say(`${error.message}; trying again until Ctrl-C`);
      isLost = true;
    }
    await clock.sleep(pause, signal);
    pause = Math.min(pause * 2, MAX_PAUSE_MS);
  }
}
