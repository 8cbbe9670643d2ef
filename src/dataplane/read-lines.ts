// Lines of a pipe. Unlike node:readline it ends a line at a line feed alone: a client chooses the text of a line, with U+2028 or a
// carriage return in it. Invariant: a line without an end costs no more memory than `MAX_LINE`.
import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

/** Characters of a line. The rest of a longer one is left out. */
export const MAX_LINE = 1024 * 1024;

/** Calls `take` with each line in UTF-8, without its end. The last line may have no end. An empty line counts. */
export function readLines(stream: Readable, take: (line: string) => void): void {
  const decoder = new StringDecoder('utf8');
  let line = '';
  const add = (text: string): void => {
    line += text.slice(0, MAX_LINE - line.length);
  };
  const end = (): void => {
    const whole = line;
    line = '';
    take(whole);
  };
  stream.on('data', (part: Buffer) => {
    const [first = '', ...others] = decoder.write(part).split('\n');
    add(first);
    for (const text of others) {
      end();
      add(text);
    }
  });
  stream.once('end', () => {
    add(decoder.end());
    if (line !== '') end();
  });
}
