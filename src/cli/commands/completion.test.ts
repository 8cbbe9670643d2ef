import { describe, expect, it } from 'vitest';
import { completeWords } from './completion.ts';
import { createProgram } from '../program.ts';

describe('completion', async () => {
  const program = await createProgram();

  it.each([
    [['ge'], ['get', 'generate']],
    [['get', 'meshti'], ['meshtimeouts']],
    [['get', 'mt,meshti'], ['mt,meshtimeouts']],
    [['describe', 'meshti'], ['meshtimeouts']],
    [['explain', 'meshti'], ['meshtimeouts']],
    [['token', 'revoke', '--k'], ['--kind']],
    [
      ['token', 'revoke', '--kind', ''],
      ['user', 'zone', 'dataplane'],
    ],
    [['get', 'meshtimeouts', 'x'], []],
    [['get', '-o', 'w'], ['wide']],
    [
      ['get', '--mesh', 'get', 'zon'],
      ['zones', 'zone-insights'],
    ],
    [['delete', '--ig'], ['--ignore-not-found']],
    [['config', 'control-planes', 'u'], ['use']],
    [
      ['generate', 'tls-certificate', '--type', ''],
      ['server', 'client'],
    ],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
    [['nonsense', 'x'], []],
  ])('of %j is %j', (words, expected) => {
    expect(completeWords(program, words)).toEqual(expected);
  });

  it('of an empty word lists every command', () => {
    expect(completeWords(program, [''])).toEqual(
      expect.arrayContaining(['get', 'apply', 'diff', 'edit', 'delete', 'export', 'inspect', 'generate', 'config', 'demo']),
    );
  });
});
