import { describe, expect, it, vi } from 'vitest';
import { runSteps } from '../base/steps.ts';
import { jsonSteps, parseJsonBody } from './json-body.ts';

describe('the body of a request', () => {
  it('has at most a million objects and lists, and a larger one is not parsed', () => {
    const many = (unit: string, count: number): string => `[${`${unit},`.repeat(count - 1)}${unit}]`;
    expect(parseJsonBody(many('{}', 999_999))).toHaveLength(999_999);
    const parse = vi.spyOn(JSON, 'parse');
    const message = 'the body has more than 1000000 objects and lists: send it in parts';
    for (const text of [many('{}', 1_000_000), many('[]', 1_000_000)])
      expect(() => parseJsonBody(text)).toThrow(expect.objectContaining({ code: 'too_large', message }));
    expect(parse).not.toHaveBeenCalled();
  });

  it('has at most 64 levels', () => {
    const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
    expect(parseJsonBody(nested(64))).toBeDefined();
    const message = 'the body is nested deeper than 64 levels';
    expect(() => parseJsonBody(nested(65))).toThrow(expect.objectContaining({ code: 'bad_request', message }));
    expect(parseJsonBody(`["${'['.repeat(65)}"]`)).toEqual(['['.repeat(65)]);
  });
});

describe('a large body in steps', () => {
  const outcomeOf = (read: () => unknown): unknown => {
    try {
      return read();
    } catch (error) {
      return String(error);
    }
  };

  it.each([
    '[{"a": 1, "b": [null, {}]}, 2, "[", null, [], {"c": "\\"}]"}]',
    '{"documents": [{"a": {"b": [1]}}, {}], "total": 3, "items": [], "7": [[1]], "1": [{"z": 1}]}',
    '\ufeff [{"a": 1}]',
    '[{"a": 1}, {"b": }]',
    '[{"a": 1}',
    '[[1]}',
    '[{"a": {"__proto__": 1}}]',
    '{"documents": [{"a": "\\u0000"}]}',
    '7',
    `[${'['.repeat(64)}]`,
  ])('is read as one at once is: %s', (text) => {
    const known = outcomeOf(() => parseJsonBody(text));
    const found = outcomeOf(() => runSteps(jsonSteps(text)));
    // A fault between documents has no position.
    if (typeof known === 'string') expect(known).toContain(String(found).replace(/ at character \d+$/, ''));
    else expect(found).toEqual(known);
  });

  it('yields after each document, and after a part of a long text', () => {
    const count = (text: string): number => [...jsonSteps(text)].length;
    expect(count(`[${'{},'.repeat(99)}{}]`)).toBe(100);
    expect(count(JSON.stringify(Array.from({ length: 100_000 }, (_, at) => at)))).toBeGreaterThan(5);
  });
});
