// A watch that survives restarts of its control plane: an interrupted watch is opened again. `begun` precedes each list, so that a
// reader can detect deleted items. Invariant: a watch that was refused, or that never sent its full list, is not retried.
import { systemClock, type Clock } from '../../base/clock.ts';
import { MeridianError } from '../../base/errors.ts';
import type { ApiClient } from './api-client.ts';
import { note } from '../output.ts';

type Watching = Pick<ApiClient, 'watch'>;
type Options = { readonly clock: Clock; readonly say: (text: string) => void };

const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 10_000;

/** The client, with watches that continue until their signal aborts. @param say reports an outage and its end */
export function reconnecting(client: Watching, { clock, say }: Options = { clock: systemClock, say: note }): Watching {
  return {
    async *watch(info, what, signal) {
      let pause = FIRST_PAUSE_MS;
      let hasBeenComplete = false;
      let isLost = false;
      while (!signal.aborted) {
        yield { event: 'begun', data: {} };
        try {
          for await (const event of client.watch(info, what, signal)) {
            if (event.event === 'synced') {
              if (isLost) say('the control plane is back');
              pause = FIRST_PAUSE_MS;
              hasBeenComplete = true;
              isLost = false;
            }
            yield event;
          }
          return;
        } catch (error) {
          if (signal.aborted) return;
          if (!hasBeenComplete || !(error instanceof MeridianError) || error.code !== 'unavailable') throw error;
          if (!isLost) say(`${error.message}; trying again until Ctrl-C`);
          isLost = true;
        }
        await clock.sleep(pause, signal);
        pause = Math.min(pause * 2, MAX_PAUSE_MS);
      }
    },
  };
}
