import { spawnSync } from 'node:child_process';
import { openSync, closeSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { createLogger } from './log.ts';

function sink(): { lines: () => Record<string, unknown>[]; to: Writable } {
  let text = '';
  const to = new Writable({ write: (chunk: Buffer, _encoding, done) => ((text += chunk.toString()), done()) });
  return {
    to,
    lines: () => text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Record<string, unknown>])),
  };
}

class DatabaseError extends Error {
  readonly code = '22P05';
  readonly query = 'INSERT INTO resources VALUES ($1)';
  readonly params = ['c2VjcmV0'];
  readonly where = 'unnamed portal parameter $1 = c2VjcmV0';
  readonly detail = 'Failing row contains (c2VjcmV0)';
  readonly internalQuery = 'SELECT c2VjcmV0';
}

describe('a line about an error', () => {
  it('has the type, message, code and stack of the error, and no fields of a database', () => {
    const { to, lines } = sink();
    const log = createLogger('info', {}, to);
    const error = new DatabaseError('unsupported Unicode escape sequence', { cause: new DatabaseError('inner') });
    log.error({ err: error }, 'a request failed');
    log.child({ component: 'x' }).error(error);
    expect(lines()).toHaveLength(2);
    for (const { err } of lines()) {
      expect(Object.keys(err as object).toSorted()).toEqual(['code', 'message', 'stack', 'type']);
      expect(err).toMatchObject({ type: 'DatabaseError', code: '22P05', message: 'unsupported Unicode escape sequence' });
    }
    expect(JSON.stringify(lines())).not.toMatch(/c2VjcmV0|INSERT/);
  });

  it('logs a thrown value that is not an Error as text', () => {
    const { to, lines } = sink();
    createLogger('info', {}, to).error({ err: 'gone' }, 'a request failed');
    expect(lines()[0]).toMatchObject({ err: { type: 'string', message: 'gone' } });
  });
});

it('does not stop the server when it cannot be written', () => {
  const module = join(import.meta.dirname, 'log.ts');
  const script = `import { createLogger } from ${JSON.stringify(module)};
    const log = createLogger('info');
    for (const line of ['one', 'other', 'x'.repeat(5_000_000)]) { log.info(line); await new Promise(setImmediate); }
    process.stdout.write('serves');`;
  const unwritable = openSync(module, 'r');
  const args = ['--input-type=module', '-e', script];
  const { stdout } = spawnSync(process.execPath, args, { stdio: ['ignore', 'pipe', unwritable], encoding: 'utf8' });
  closeSync(unwritable);
  expect(stdout).toBe('serves');
});
