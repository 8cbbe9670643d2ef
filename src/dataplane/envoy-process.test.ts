import { join } from 'node:path';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { writeProgram } from '../../test/dataplane/temporary-home.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { EnvoyProcess } from './envoy-process.ts';

it('logs a line of Envoy with a Unicode line separator as one line, and a last line without an end', async () => {
  const folder = temporaryFolder();
  const script = String.raw`#!/bin/sh
printf 'warning|http|agent \342\200\250 of a client\n\nerror|main|no memory' >&2
exit 3
`;
  const program = await writeProgram(join(folder, 'envoy'), script);
  const logged: unknown[] = [];
  const log = pino({ base: null, timestamp: false }, { write: (line: string) => void logged.push(JSON.parse(line)) });
  const options = { program, config: '', logLevel: 'warning', componentLogLevel: '', concurrency: 1, drainMs: 0 };
  const envoy = await EnvoyProcess.start(options, folder, log);
  expect(await envoy.ended).toEqual({ how: 'exit code 3', code: 3 });
  expect(logged).toEqual([
    { level: 40, envoy: 'http', msg: 'agent \u2028 of a client' },
    { level: 50, envoy: 'main', msg: 'no memory' },
  ]);
  expect(envoy.lastFault).toBe('no memory');
});
