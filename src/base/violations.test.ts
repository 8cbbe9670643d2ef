// A bounded list of violations: bounded in number, in size, and in the work that fills it.
import { describe, expect, it } from 'vitest';
import { boundViolations, collectViolations, MAX_VIOLATIONS } from './violations.ts';

describe('collectViolations', () => {
  it('stops the check at the first violation over the limit', () => {
    let checked = 0;
    const violations = collectViolations((refuse) => {
      for (let index = 0; index < 1_000_000; index += 1) {
        checked += 1;
        refuse(`to[${String(index)}]`, 'must be an object');
      }
    });
    expect(checked).toBe(MAX_VIOLATIONS + 1);
    expect(violations).toHaveLength(MAX_VIOLATIONS + 1);
    expect(violations.at(-1)).toEqual({
      field: 'to[100]',
      reason: 'the check ends here, after 100 violations; there may be more',
    });
  });

  it('lists each violation once', () => {
    const violations = collectViolations((refuse) => {
      for (let index = 0; index < 1_000; index += 1) refuse('name', index % 2 === 0 ? 'must be given' : 'must be text');
    });
    expect(violations.map(({ reason }) => reason)).toEqual(['must be given', 'must be text']);
  });

  it('lists all violations below the limit', () => {
    const violations = collectViolations((refuse) => {
      for (let index = 0; index < MAX_VIOLATIONS; index += 1) refuse(`to[${String(index)}]`, 'must be an object');
    });
    expect(violations).toHaveLength(MAX_VIOLATIONS);
    expect(violations.at(-1)).toEqual({ field: 'to[99]', reason: 'must be an object' });
  });

  it('rethrows an error of the check itself', () => {
    expect(() =>
      collectViolations(() => {
        throw new Error('no store');
      }),
    ).toThrow('no store');
  });
});

describe('boundViolations', () => {
  it('counts the omitted violations', () => {
    const many = Array.from({ length: 50_000 }, (_, index) => ({ field: `to[${String(index)}]`, reason: 'must be an object' }));
    const listed = boundViolations(many);
    expect(listed).toHaveLength(MAX_VIOLATIONS + 1);
    expect(listed.at(-1)).toEqual({ field: 'to[100]', reason: 'and 49900 more' });
  });

  it('cuts a field and a reason that repeat a large input', () => {
    const [violation] = boundViolations([{ field: 'a'.repeat(1_000_000), reason: '😀'.repeat(1_000_000) }]);
    expect(violation?.field).toHaveLength(400);
    expect(violation?.reason).toHaveLength(1_000);
    expect(violation?.reason.isWellFormed()).toBe(true);
  });
});
