import { describe, expect, it } from 'vitest';
import { runSteps } from '../../base/steps.ts';
import { diffSteps } from '../../document/json-diff.ts';
import type { Json } from '../../resource/types.ts';
import { applyPatch } from './apply-patch.ts';

describe('a patch', () => {
  it.each<[Json, Json]>([
    [{ a: 1 }, { a: 2, b: { 'c/d~e': [1] } }],
    [{ list: [1, 2, 3, { x: 1 }] }, { list: [1, 5] }],
    [{ list: [1] }, { list: [1, { a: 'b' }, 3] }],
    [{ gone: true, kept: null }, { kept: null }],
    [{ a: [1] }, { a: { b: 1 } }],
    [null, { type: 'Mesh' }],
  ])('of %j gives %j', (before, after) => {
    const copy = structuredClone(before);
    expect(applyPatch(before, runSteps(diffSteps(before, after)))).toEqual(after);
    expect(before).toEqual(copy);
  });

  it('cannot reach a prototype', () => {
    const after = applyPatch({}, [{ op: 'add', path: '/__proto__', value: { polluted: true } }]);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    expect(Object.keys(after as object)).toEqual(['__proto__']);
  });

  it('is refused when it does not fit the document', () => {
    expect(() => applyPatch({}, [{ op: 'replace', path: '/a/b', value: 1 }])).toThrow('/a/b');
  });
});
