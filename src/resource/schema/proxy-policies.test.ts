// MeshTLS, MeshPassthrough, MeshTrace, MeshMetric, MeshProxyPatch: sections and references (policies 1.2).
import { describe, expect, it } from 'vitest';
import { findIn, NOTHING_FOUND, type Found } from './spec-table.fixture.ts';

const violation = (line: string): Found => ({ violations: [line], warnings: [] });

describe('policies whose conf is kept as it is', () => {
  it.each([
    ['MeshTLS', 'rules: [{ default: { mode: Strict } }]'],
    ['MeshPassthrough', 'default: { passthroughMode: Matched, appendMatch: [{ type: Domain, value: a.b }] }'],
    ['MeshTrace', 'targetRef: { kind: Dataplane }\ndefault: { backends: [{ type: Zipkin }], sampling: { overall: 80 } }'],
    ['MeshMetric', 'default: { sidecar: {}, backends: [] }'],
    ['MeshProxyPatch', 'default: { appendModifications: [{ cluster: { operation: Add, value: x } }] }'],
  ])('takes %s', (type, spec) => {
    expect(findIn(type, spec)).toEqual(NOTHING_FOUND);
  });

  it.each([
    ['MeshTLS', 'rules: [{}]', 'spec.rules[0].default: must be given: an object'],
    ['MeshPassthrough', 'default: { appendMatch: {} }', 'spec.default.appendMatch: must be a list'],
    [
      'MeshTrace',
      'targetRef: { kind: MeshHTTPRoute, name: a }',
      'spec.targetRef.kind: must be one of Mesh, Dataplane, MeshSubset, MeshService, MeshServiceSubset, MeshGateway, not "MeshHTTPRoute"',
    ],
    [
      'MeshMetric',
      'targetRef: { kind: Dataplane, sectionName: a }',
      'spec.targetRef.sectionName: must not be set without rules: only rules are about one inbound',
    ],
    ['MeshProxyPatch', '{}', 'spec.default: must be given: an object'],
  ])('refuses %s with %s', (type, spec, line) => {
    expect(findIn(type, spec)).toEqual(violation(line));
  });
});
