import { expect, it, vi } from 'vitest';
import { createLogger, type LogLevel } from './log.ts';
import { logWarnings } from './log-warnings.ts';

it.each<[LogLevel, string[]]>([
  ['debug', ['MaxListenersExceededWarning', 'DeprecationWarning']],
  ['info', ['MaxListenersExceededWarning']],
])('warnings of Node are lines of the log of level %s, and nothing else is printed', async (level, expected) => {
  const printed = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const lines: string[] = [];
  const restore = logWarnings(createLogger(level, {}, { write: (line) => void lines.push(line) }));
  try {
    process.emitWarning('eleven listeners', { type: 'MaxListenersExceededWarning', code: 'MAX' });
    process.emitWarning('an old call', { type: 'DeprecationWarning', code: 'DEP0123' });
    await vi.waitFor(() => expect(lines).toHaveLength(expected.length));
    expect(printed).not.toHaveBeenCalled();
    const first = JSON.parse(lines[0] ?? '') as object;
    expect(first).toMatchObject({ warning: 'MaxListenersExceededWarning', code: 'MAX', msg: 'eleven listeners' });
    expect(lines.map((line) => (JSON.parse(line) as { warning: string }).warning)).toEqual(expected);
  } finally {
    restore();
    printed.mockRestore();
  }
});
