import { describe, expect, it } from 'vitest';
import { findTypeByAnyName } from '../../resource/type-registry.ts';
import { selectionOf } from './selector.ts';
import type { ServerEvent } from './server-events.ts';
import { rowsOf } from './watched-rows.ts';

const info = findTypeByAnyName('MeshTimeout');
if (info === undefined) throw new Error('no type');

function put(name: string, labels: Record<string, string>): ServerEvent {
  return { event: 'put', data: { type: 'MeshTimeout', mesh: 'shop', name, labels } };
}

function gone(name: string): ServerEvent {
  return { event: 'delete', data: { type: 'MeshTimeout', mesh: 'shop', name } };
}

async function shown(selector: string, events: readonly ServerEvent[]): Promise<string[][]> {
  const client = {
    watch: async function* () {
      yield* events;
    },
  };
  const what = { mesh: 'shop', ...selectionOf({ selector: [selector] }) };
  const steps: string[][] = [];
  for await (const rows of rowsOf(client, info as NonNullable<typeof info>, what, new AbortController().signal))
    steps.push(rows.map(({ event, item }) => `${event} ${item.name} ${JSON.stringify(item.labels)}`));
  return steps;
}

describe('a watch with a selector', () => {
  it('shows a row as added when it starts to match, and as deleted when it stops to match', async () => {
    const synced: ServerEvent = { event: 'synced', data: {} };
    const events = [put('one', { tier: 'web' }), put('two', { tier: 'db' }), synced];
    const later = [
      put('two', { tier: 'web' }),
      put('one', { tier: 'db' }),
      put('one', { tier: 'db', a: 'x' }),
      gone('one'),
      gone('two'),
    ];
    expect(await shown('tier!=db', [...events, ...later])).toEqual([
      ['existing one {"tier":"web"}'],
      ['added two {"tier":"web"}'],
      ['deleted one {"tier":"web"}'],
      ['deleted two {"tier":"web"}'],
    ]);
  });
});
