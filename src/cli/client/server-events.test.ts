import { describe, expect, it } from 'vitest';
import { failedAnswer } from './failed-answer.ts';
import { readEvents, type ServerEvent } from './server-events.ts';

const failed = (status: number, body: unknown) => failedAnswer(status, body, '', { isKnown: true });

async function* bytes(...parts: string[]): AsyncGenerator<Buffer> {
  for (const part of parts) yield Buffer.from(part);
}

async function collect(parts: string[], events: ServerEvent[] = []): Promise<ServerEvent[]> {
  for await (const event of readEvents(bytes(...parts), new AbortController().signal, { failed })) events.push(event);
  return events;
}

describe('server-sent events', () => {
  it('are parsed from pieces of any size, without comments, and an unexpected end is an error', async () => {
    const text = ': watching\n\nevent: put\nid: 3\ndata: {"name":"é"}\n\n: alive\n\nevent: synced\ndata: {}\n\n';
    for (const size of [1, 7, 1000]) {
      const raw = Buffer.from(text).toString('latin1');
      const pieces = raw.match(new RegExp(`[^]{1,${String(size)}}`, 'g')) ?? [];
      const events: ServerEvent[] = [];
      const stream = (async function* () {
        for (const piece of pieces) yield Buffer.from(piece, 'latin1');
      })();
      const reading = (async () => {
        for await (const event of readEvents(stream, new AbortController().signal, { failed })) events.push(event);
      })();
      await expect(reading).rejects.toThrow('ended the watch');
      expect(events).toEqual([
        { event: 'put', data: { name: 'é' }, id: '3' },
        { event: 'synced', data: {} },
      ]);
    }
  });

  it('have an id also in a block without data, which is no event', async () => {
    const got: unknown[] = [];
    const stream = bytes(': alive\nid: a.1\n\nid: a.2\nevent: zones\ndata: {}\n\n: alive\nid: a.3\n\n');
    const reading = (async () => {
      for await (const { event } of readEvents(stream, new AbortController().signal, { failed, onId: (id) => got.push(id) }))
        got.push(event);
    })();
    await expect(reading).rejects.toThrow('ended the watch');
    expect(got).toEqual(['a.1', 'a.2', 'zones', 'a.3']);
  });

  it('end with the last error of the server', async () => {
    await expect(collect(['event: error\ndata: {"title":"Payload too large","detail":"narrow the list"}\n\n'])).rejects.toThrow(
      'Payload too large: narrow the list',
    );
  });

  it('are refused when one event exceeds the size limit', async () => {
    const piece = `data: ${'x'.repeat(1024 * 1024)}`;
    await expect(collect(Array.from({ length: 40 }, () => piece))).rejects.toThrow('the watch broke off');
  });
});
