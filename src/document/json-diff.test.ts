// The difference is exact, is found in steps, and does not look at what both documents share.
import { expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import { runSteps } from '../base/steps.ts';
import { applyPatch } from '../cli/documents/apply-patch.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import { diffSteps } from './json-diff.ts';

const rules = (count: number): JsonObject[] =>
  Array.from({ length: count }, (_, at) => ({ path: `/${String(at)}`, to: [{ name: 'a' }] }));
const route = (items: readonly Json[]): JsonObject => ({ type: 'MeshHTTPRoute', spec: { to: [{ rules: [...items] }] } });

it('makes of the first document the second', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (before, after) => {
      expect(applyPatch(before as Json, runSteps(diffSteps(before as Json, after as Json)))).toEqual(after);
    }),
  );
});

it('has a step for each item of a long list', () => {
  const before = rules(1_000);
  const after = before.map((rule, at) => (at === 999 ? { ...rule, path: '/new' } : rule));
  const steps = diffSteps(route(before), route(after));
  let taken = 0;
  for (; steps.next().done !== true; taken += 1);
  expect(taken).toBeGreaterThanOrEqual(1_000);
  expect(runSteps(diffSteps(route(before), route(after)))).toEqual([
    { op: 'replace', path: '/spec/to/0/rules/999/path', value: '/new' },
  ]);
});

it('does not look into what is the same object in both', () => {
  const shared = new Proxy<JsonObject>({}, { ownKeys: () => expect.unreachable('it was looked into') });
  expect(runSteps(diffSteps(route([shared, 1]), route([shared, 2])))).toEqual([
    { op: 'replace', path: '/spec/to/0/rules/1', value: 2 },
  ]);
});

it('replaces a document that differs in more than a thousand places', () => {
  const after = route(rules(1_001).map((rule) => ({ ...rule, path: '/new' })));
  expect(runSteps(diffSteps(route(rules(1_001)), after))).toEqual([{ op: 'replace', path: '', value: after }]);
});
