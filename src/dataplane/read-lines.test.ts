import { PassThrough } from 'node:stream';
import { finished } from 'node:stream/promises';
import { describe, expect, it } from 'vitest';
import { MAX_LINE, readLines } from './read-lines.ts';

async function linesOf(...parts: (string | Buffer)[]): Promise<string[]> {
  const stream = new PassThrough();
  const lines: string[] = [];
  readLines(stream, (line) => lines.push(line));
  for (const part of parts) stream.write(part);
  stream.end();
  await finished(stream);
  return lines;
}

describe('lines of a pipe', () => {
  it.each(['\u2028', '\u2029', '\u0085', '\r', '\v', '\f'])(
    'end with a line feed alone, not with character %#',
    async (character) => {
      expect(await linesOf(`one${character}\ntwo${character}2\n`)).toEqual([`one${character}`, `two${character}2`]);
    },
  );

  it('may come in parts that divide a line and a character', async () => {
    const bytes = Buffer.from('grün\n\nblau\n');
    expect(await linesOf(...Array.from(bytes, (byte) => Buffer.from([byte])))).toEqual(['grün', '', 'blau']);
  });

  it('have a last one without an end', async () => {
    expect(await linesOf('one\ntw', 'o')).toEqual(['one', 'two']);
    expect(await linesOf('one\n')).toEqual(['one']);
  });

  it('lose what is beyond the longest line, and the next one is whole', async () => {
    const half = 'x'.repeat(MAX_LINE / 2);
    const lines = await linesOf(half, half, half, `${half}\nnext\n`);
    expect(lines.map(({ length }) => length)).toEqual([MAX_LINE, 4]);
  });
});
