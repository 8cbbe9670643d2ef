import { describe, expect, it } from 'vitest';
import { MeridianError } from '../../base/errors.ts';
import { typeOf } from '../../resource/type-registry.ts';
import type { Clock } from '../../base/clock.ts';
import { reconnecting } from './reconnecting-watch.ts';
import type { ServerEvent } from './server-events.ts';
import { rowsOf } from './watched-rows.ts';

const synced: ServerEvent = { event: 'synced', data: {} };

function put(name: string, spec: object = {}): ServerEvent {
  return { event: 'put', data: { type: 'MeshTimeout', mesh: 'shop', name, spec } };
}

function deletion(name: string): ServerEvent {
  return { event: 'delete', data: { type: 'MeshTimeout', mesh: 'shop', name } };
}

const lost = new MeridianError('unavailable', 'the control plane ended the watch');

/** The output when each attempt to watch gives these events and then this error, and Ctrl-C follows the last one. */
async function shown(
  ...attempts: [events: ServerEvent[], error: MeridianError][]
): Promise<{ rows: string[]; said: string[]; pauses: number[] }> {
  const stop = new AbortController();
  const said: string[] = [];
  const rows: string[] = [];
  const pauses: number[] = [];
  const clock: Clock = {
    now: () => new Date(0),
    elapsed: () => 0,
    after: () => () => undefined,
    sleep: async (ms) => void pauses.push(ms),
  };
  const client = {
    async *watch(): AsyncGenerator<ServerEvent> {
      const [events, error] = attempts.shift() ?? [[], lost];
      yield* events;
      if (attempts.length === 0) stop.abort();
      throw error;
    },
  };
  const what = { mesh: 'shop', filter: {}, matches: null };
  const watching = reconnecting(client, { clock, say: (text) => said.push(text) });
  for await (const changed of rowsOf(watching, typeOf('MeshTimeout'), what, stop.signal))
    rows.push(changed.map(({ event, item }) => `${event} ${item.name}`).join(', '));
  return { rows, said, pauses };
}

describe('a watch whose control plane restarts', () => {
  it('continues with the changes made during the outage, and shows no change twice', async () => {
    const { rows, said } = await shown(
      [[put('kept'), put('edited'), put('gone'), synced], lost],
      [[put('kept'), put('edited', { to: [] }), put('fresh'), synced, deletion('kept')], lost],
    );
    expect(rows).toEqual([
      'existing kept, existing edited, existing gone',
      'changed edited',
      'added fresh',
      'deleted gone',
      'deleted kept',
    ]);
    expect(said).toEqual(['the control plane ended the watch; trying again until Ctrl-C', 'the control plane is back']);
  });

  it('waits longer after each failure, and keeps its rows when a list is interrupted', async () => {
    const { rows, said, pauses } = await shown(
      [[put('a'), put('b'), synced], lost],
      [[], lost],
      [[put('a')], lost],
      [[put('a'), synced], lost],
      [[put('a'), synced], lost],
    );
    expect(rows).toEqual(['existing a, existing b', 'deleted b']);
    expect(pauses).toEqual([500, 1000, 2000, 500]);
    expect(said).toHaveLength(4);
  });

  it('ends when the control plane refuses it, or when the first list is interrupted', async () => {
    const refused = new MeridianError('forbidden', 'the user token has expired');
    await expect(shown([[synced], lost], [[], refused], [[], lost])).rejects.toThrow('expired');
    await expect(shown([[put('a')], lost], [[], lost])).rejects.toThrow('ended the watch');
  });
});
