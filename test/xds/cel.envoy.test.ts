// Each expression of `%CEL(…)%` that a check accepts, Envoy accepts.
import { expect, inject, it } from 'vitest';
import { isEnvoyCel } from '../../src/schema/expressions/envoy-cel.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { validate, type NamedConfig } from '../support/envoy.ts';
import { fc } from '../support/property.ts';
import { isFull } from '../support/test-size.ts';

/** Each push tries the same expressions, as in policies.envoy.test.ts. */
const SEED = isFull ? {} : { seed: 1 };
const BATCH = isFull ? 20_000 : 2_000;

const PARTS = [
  ...[
    'a',
    'request.headers["x-a"]',
    're',
    'a.for',
    '.a.b',
    '"t"',
    "'ü'",
    String.raw`r"\d"`,
    'b"x"',
    String.raw`"\n\x41\101\u00e9"`,
  ],
  ...['1', '0x1F', '9223372036854775807', '2u', '1.5', '.5e-3', 'true', 'null', '[]', '{}', 'int', 'a.`b-c`'],
];
const GLOBAL = ['size', 'int', 'uint', 'double', 'bytes', 'bool', 'timestamp', 'duration', 'type', 'dyn'];
const OF_TEXTS = ['matches', 'startsWith', 'endsWith', 'contains'];
const BETWEEN = ['==', '!=', '<', '<=', '>', '>=', '+', '-', '*', ' / ', ' % ', '&&', '||', ' in '];
/** What a fault leaves or adds. */
const STRAY = [
  '(',
  ')',
  '[',
  ']',
  '{',
  '}',
  ',',
  ':',
  '?',
  '.',
  '!',
  '-',
  '"',
  "'",
  '\\',
  '|',
  '=',
  'in',
  'as',
  'size',
  'matches',
  '!!',
  ',]',
  '""',
  ' ',
];

const pattern = fc
  .array(
    fc.constantFrom(
      'a',
      'k',
      '/',
      '.',
      '[0-9]',
      '[^/]',
      '(',
      ')',
      '|',
      '*',
      '+',
      '?',
      '{2}',
      '{0,9}',
      '^',
      '(?i)',
      '[[:alpha:]]',
    ),
  )
  .map((parts) => parts.join(''));

const { expression } = fc.letrec<{ expression: string }>((tie) => {
  const one = tie('expression');
  const of = (...parts: readonly (string | fc.Arbitrary<string>)[]): fc.Arbitrary<string> =>
    fc.tuple(...parts.map((part) => (typeof part === 'string' ? fc.constant(part) : part))).map((texts) => texts.join(''));
  const repeated = fc.tuple(fc.constantFrom(['(', ')'], ['[', ']'], ['int(', ')'], ['!', ''], ['', '.b'], ['', '+a'], ['', '&&a'], ['a?b:', '']), fc.nat(34), one); // oxfmt-ignore
  return {
    expression: fc.oneof(
      { depthSize: 'medium', withCrossShrink: true },
      fc.constantFrom(...PARTS),
      of(one, fc.constantFrom(...BETWEEN), one),
      of('(', one, ')'),
      of('(', one, fc.constantFrom(').b', ').size()', ').getHours()', ')[0]')),
      of(one, ' ? ', one, ' : ', one),
      of('[', one, ',', one, fc.constantFrom(']', ',]')),
      of('{', one, ':', one, fc.constantFrom('}', ',}')),
      of(one, '[', one, ']'),
      of(fc.constantFrom(...GLOBAL), '(', one, ')'),
      of('has(', one, '.b)'),
      of(fc.constantFrom(...OF_TEXTS), '(', one, ',', one, ')'),
      of('a.', fc.constantFrom(...OF_TEXTS), '(', one, ')'),
      of('a.matches("', pattern, '")'),
      of('re.', fc.constantFrom('capture', 'extract'), '(', one, ',', one, fc.constantFrom(')', ',a)')),
      repeated.map(([[before = '', after = ''], times, text]) => before.repeat(times) + text + after.repeat(times)),
    ),
  };
});
const broken = fc
  .tuple(expression, fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(2), fc.constantFrom(...STRAY))
  .map(([text, at, length, stray]) => {
    const from = Math.floor(at * text.length);
    return text.slice(0, from) + stray + text.slice(from + length);
  });

/** A listener whose log has the expression. */
function configWith(text: string, name: string): NamedConfig {
  const log = {
    ...{ '@type': 'type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog', path: '/dev/null' },
    logFormat: { textFormatSource: { inlineString: `%CEL(${text})%` } },
  };
  const proxy: JsonObject = {
    '@type': 'type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy',
    ...{ statPrefix: 'tcp', cluster: 'c', accessLog: [{ name: 'log', typedConfig: log }] },
  };
  const listener: JsonObject = {
    ...{ name: 'l', address: { socketAddress: { address: '127.0.0.1', portValue: 10_000 } } },
    filterChains: [{ filters: [{ name: 'tcp', typedConfig: proxy }] }],
  };
  const clusters = new Map([['c', { name: 'c', type: 'STATIC', connectTimeout: '1s' }]]);
  return { name, config: { clusters, assignments: new Map(), listeners: new Map([['l', listener]]), routes: new Map() } };
}

it('an accepted CEL expression of a log is one that Envoy takes', async () => {
  const texts = fc.sample(fc.oneof(expression, broken), { numRuns: BATCH, ...SEED });
  // A `)%` ends the command.
  const accepted = [...new Set(texts)].filter((text) => !/\)(:\d+)?%/.test(text) && isEnvoyCel(text));
  expect(accepted.length).toBeGreaterThan(BATCH / 10);
  const refusals = await validate(
    inject('envoy'),
    accepted.map((text, at) => configWith(text, `c${String(at)}`)),
  );
  const why = refusals.map(({ name, reason }) => [accepted[Number(name.slice(1))], reason.slice(-200)]);
  expect(why).toEqual([]);
});
