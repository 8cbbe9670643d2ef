import { expect, it } from 'vitest';
import { MeridianError } from '../../base/errors.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { followEvents } from './followed-events.ts';
import type { ServerEvent } from './server-events.ts';

const lost = new MeridianError('unavailable', 'the control plane ended the watch');

/** The output when each attempt gives these events and then this error, and Ctrl-C follows the last one. */
async function shown(attempts: readonly (readonly [ServerEvent[], Error])[]) {
  const [clock, stop, left] = [new ManualClock(), new AbortController(), [...attempts]];
  const [asked, said, events]: [string[], string[], unknown[]] = [[], [], []];
  const client = {
    async *events(
      _topics: readonly string[],
      lastId: string,
      _signal: AbortSignal,
      onId: (id: string) => void,
    ): AsyncGenerator<ServerEvent> {
      asked.push(lastId);
      const attempt = left.shift();
      if (attempt === undefined) return stop.abort();
      for (const event of attempt[0]) {
        if (event.id !== undefined) onId(event.id);
        // A block without data is no event.
        if (event.data !== undefined) yield event;
      }
      throw attempt[1];
    },
  };
  const following = (async () => {
    for await (const { data } of followEvents(client, [], stop.signal, { clock, say: (text) => said.push(text) }))
      events.push(data);
  })();
  const failed = following.then(
    () => null,
    (error: unknown) => error,
  );
  await clock.advance(attempts.length * 10_000);
  return { asked, said, events, error: await failed };
}

it('a stream of events that broke off goes on after its last event', async () => {
  const first: [ServerEvent[], Error] = [[{ event: 'resync', data: 1, id: 'a.1' }, { event: 'zones', data: 2, id: 'a.2' }], lost]; // oxfmt-ignore
  const second: [ServerEvent[], Error] = [[{ event: 'zones', data: 3, id: 'a.3' }], lost];
  expect(await shown([first, [[], lost], second])).toEqual({
    asked: ['', 'a.2', 'a.2', 'a.3'],
    said: [
      'the control plane ended the watch; trying again until Ctrl-C',
      'the control plane is back',
      'the control plane ended the watch; trying again until Ctrl-C',
    ],
    events: [1, 2, 3],
    error: null,
  });
});

it('a stream of events goes on after a heartbeat with an id', async () => {
  const first: [ServerEvent[], Error] = [[{ event: 'resync', data: 1, id: 'a.1' }, { event: '', data: undefined, id: 'a.7' }], lost]; // oxfmt-ignore
  expect(await shown([first])).toMatchObject({ asked: ['', 'a.7'], events: [1] });
});

it('a stream of events that never began, or is refused later, is an error', async () => {
  expect((await shown([[[], lost]])).error).toBe(lost);
  const refused = new MeridianError('forbidden', 'the user token has expired');
  expect((await shown([[[{ event: 'resync', data: 1, id: 'a.1' }], refused]])).error).toBe(refused);
});
