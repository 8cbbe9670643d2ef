import { describe, expect, it, vi } from 'vitest';
import { parseJsonBody } from './json-body.ts';

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
