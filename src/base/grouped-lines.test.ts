import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { groupLines } from './grouped-lines.ts';

const LOG = join(import.meta.dirname, 'log.ts');

it('writes the lines of one turn of the event loop together, before a waiting task continues', async () => {
  const written: string[] = [];
  const lines = groupLines({ write: (text) => void written.push(text) });
  const requests = [1, 2, 3].map(async (request) => {
    await Promise.resolve();
    lines.write(`${String(request)}\n`);
    await Promise.resolve();
    return [...written];
  });
  expect(await Promise.all(requests)).toEqual([['1\n2\n3\n'], ['1\n2\n3\n'], ['1\n2\n3\n']]);
  lines.write('4\n');
  await Promise.resolve();
  expect(written).toEqual(['1\n2\n3\n', '4\n']);
});

it('buffers at most 64 kB', () => {
  const written: string[] = [];
  const lines = groupLines({ write: (text) => void written.push(text) });
  for (let line = 0; line < 100; line += 1) lines.write(`${'x'.repeat(999)}\n`);
  expect(written.map(({ length }) => length)).toEqual([66_000]);
});

it.each([
  ['it exits', 'process.exit(0)'],
  ['it throws', 'throw new Error("the end")'],
  ['its last listener logs', 'process.on("exit", () => log.info("last"))'],
])('writes every line of a process when %s directly after it', async (_, end) => {
  const script = `import { createLogger } from ${JSON.stringify(LOG)};
    const log = createLogger('info'); log.info('one'); log.info('other'); ${end};`;
  const run = promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
  const { stderr } = await run.catch((error: unknown) => error as { stderr: string });
  const lines = stderr.split('\n').filter((line) => line.startsWith('{'));
  const said = lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
  expect(said).toEqual(end.includes('last') ? ['one', 'other', 'last'] : ['one', 'other']);
});
