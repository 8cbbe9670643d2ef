// Envoy 1.40 was asked for each of these expressions. test/xds/cel.envoy.test.ts asks it for random ones.
import { describe, expect, it } from 'vitest';
import { isEnvoyCel } from './envoy-cel.ts';

describe('a CEL expression for Envoy', () => {
  it.each([
    ...['size(a) > 1', 'a.size()', 'has(a.b)', 'has({"a": 1}.a)', '!has(a.b) || a.b == c', 'a ? b : c ? d : e', 'a?.5:1'],
    ...['request.headers["x"] in ["a", "b"] ? "yes" : "no"', '"a" in {"a": 1,}', '[[], {}, [a,],]', '(a.b).c[0][b]', '.a.b'],
    ...[
      'int(request.headers["content-length"]) > 100',
      'uint(1)',
      'double(a)',
      'bytes(a)',
      'bool(a)',
      'type(a) == int',
      'dyn(a)',
    ],
    ...['request.time - timestamp("2020-01-01T00:00:00Z") > duration("1h")', 'a.getHours()', 'a.getHours("UTC")'],
    ...['matches(a, b)', 'a.matches("^/x/[0-9]+$")', String.raw`a.matches("\\d+\\.[^/]*")`, String.raw`a.matches(r"\d{1,3}")`],
    ...['a.matches("(?i)bot")', 're.extract(a, "b", "c")', 're.capture(a, "b")', 'startsWith(a, b)', '"abc".contains("b")'],
    ...[
      '-a * - 1 + --b % 2',
      '!!a',
      'a < b == c',
      'a.for.`b-c`',
      '1 .a',
      'null',
      '007',
      '0x7fffffffffffffff',
      '18446744073709551615u',
    ],
    ...['.5e-3', String.raw`"\n\x41\101\u00e9\U0001F600"`, String.raw`r'\q'`, 'b"x"', String.raw`br"\q"`, "'ü😀'", 'a\t&&b'],
    ...['a' + '+a'.repeat(31), 'a' + '&&a'.repeat(900), '!'.repeat(900) + 'a', '('.repeat(31) + 'a' + ')'.repeat(31)],
  ])('may be %s', (text) => {
    expect(isEnvoyCel(text)).toBe(true);
  });

  it.each([
    ...['', ' ', 'a b', 'a =b', 'a|b', '()', '(a', 'a)', '[', '[a,', '[a,,b]', '{a}', '{a:', '{a: b,', 'a[', 'a[]', 'a[1,2]'],
    ...['a.', 'a?b', 'a ? b ? c : d : e', 'a?.b', 'a[?b]', 'in', 'as', 'for.a', 'a.in', 'a.null', 'true.b(', '`a`', '1a', '1.'],
    ...['nope()', 'a.nope()', 'string(a)', 'size()', 'size(a, b)', 'int(a,)', 'a.int()', 'getHours(a)', 'a.startsWith("x", "y")'],
    ...['has(a)', 'has(a[0])', 'has(a.b())', 'a.has(b)', '[1].exists(x, x == 1)', '[1].map(x, x)', 'a.lowerAscii()', 'Foo{}'],
    ...['a.matches("(")', 'a.matches(("("))', 'matches(a, "[")', 'a.matches("(?=a)")', String.raw`a.matches("\\pL")`],
    ...[`a.matches("${'a'.repeat(99)}")`, 'a.matches("a{0,60}")', 'a.matches("[^/]{40}")', String.raw`a.matches(!!r"\q")`],
    ...['9223372036854775808', '0x8000000000000000', '18446744073709551616u', '0x', '"a', '"a\n"', String.raw`"\q"`],
    ...[String.raw`"\400"`, String.raw`"\ud800"`, String.raw`"\UFFFFFFFF"`, String.raw`b"\u0041"`, String.raw`r"a\"`, 'rb"a"'],
    ...[
      'a' + '+a'.repeat(32),
      'a' + '.b'.repeat(32),
      'int('.repeat(32) + 'a' + ')'.repeat(32),
      '('.repeat(33) + 'a' + ')'.repeat(33),
    ],
    ...['['.repeat(9_000), 'a?b:'.repeat(2_000) + 'c', `"${'a'.repeat(10_000)}"`],
  ])('may not be %j', (text) => {
    expect(isEnvoyCel(text)).toBe(false);
  });
});
