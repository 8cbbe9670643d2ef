import { describe, expect, it } from 'vitest';
import { readLogLine } from './envoy-log.ts';

describe('a line of the log of Envoy', () => {
  it.each([
    ['info|main|starting main dispatch loop', { level: 'info', component: 'main', text: 'starting main dispatch loop' }],
    ['warning|config|gRPC|closed', { level: 'warn', component: 'config', text: 'gRPC|closed' }],
    ['critical|assert|failure', { level: 'error', component: 'assert', text: 'failure' }],
    ['trace|http|', { level: 'debug', component: 'http', text: '' }],
    ['warning|config|closed: 3, no%20«%C3%A9» 5%20%', { level: 'warn', component: 'config', text: 'closed: 3, no «é» 5 %' }],
    ['info|main|%FF%41', { level: 'info', component: 'main', text: '%FF%41' }],
    ['PARSE ERROR: Argument: -x', { level: 'warn', component: '', text: 'PARSE ERROR: Argument: -x' }],
    ['constructor|main|text', { level: 'warn', component: '', text: 'constructor|main|text' }],
  ])('%j is read', (line, read) => {
    expect(readLogLine(line)).toEqual(read);
  });

  it('is bounded', () => {
    expect(readLogLine(`info|main|${'x'.repeat(100_000)}`).text).toHaveLength(8_192);
  });
});
