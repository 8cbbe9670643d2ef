// References of every kind: what each takes and refuses (policies 1.1, 1.4).
import { describe, expect, it } from 'vitest';
import { findIn, NOTHING_FOUND } from '../validation/spec-table.fixture.ts';

const at = (ref: string): string => `to: [{ targetRef: ${ref}, default: { idleTimeout: 1s } }]`;
const top = (ref: string): string => `targetRef: ${ref}\nrules: [{ default: { idleTimeout: 1s } }]`;
const route = (backend: string): string =>
  `to: [{ targetRef: { kind: MeshService, name: a }, rules: [{ matches: [{}], default: { backendRefs: [${backend}] } }] }]`;

describe('a reference in to[]', () => {
  it.each([
    '{ kind: Mesh }',
    '{ kind: Mesh, name: "", labels: {} }',
    '{ kind: MeshService, name: a.b-c_d }',
    '{ kind: MeshService, name: a, namespace: b, sectionName: http }',
    '{ kind: MeshService, labels: { kuma.io/display-name: a }, sectionName: "8080" }',
    '{ kind: MeshExternalService, labels: { a: b } }',
    '{ kind: MeshMultiZoneService, name: a, sectionName: http }',
    '{ kind: MeshTCPRoute, name: a, namespace: b }',
    '{ kind: MeshTCPRoute, labels: { a: b } }',
  ])('may be %s', (ref) => {
    expect(findIn('MeshTimeout', at(ref))).toEqual(NOTHING_FOUND);
  });

  it.each([
    [
      '{}',
      'kind: must be given: one of Mesh, MeshService, MeshExternalService, MeshMultiZoneService, MeshHTTPRoute, MeshTCPRoute',
    ],
    [
      '{ kind: Foo }',
      'kind: must be one of Mesh, MeshService, MeshExternalService, MeshMultiZoneService, MeshHTTPRoute, MeshTCPRoute, not "Foo"',
    ],
    [
      '{ kind: 7 }',
      'kind: must be one of Mesh, MeshService, MeshExternalService, MeshMultiZoneService, MeshHTTPRoute, MeshTCPRoute, not 7',
    ],
    ['{ kind: Mesh, name: a }', 'name: must not be set with kind Mesh: allowed are proxyTypes'],
    ['{ kind: Mesh, proxyTypes: [] }', 'proxyTypes: must have at least 1 item'],
    ['{ kind: Mesh, proxyTypes: [Ingress] }', 'proxyTypes[0]: must be one of Sidecar, Gateway, not "Ingress"'],
    ['{ kind: Mesh, mesh: other }', 'mesh: must not be set: a reference stays within its mesh'],
    ['{ kind: MeshService }', 'name: must be given with kind MeshService, or labels in its place'],
    ['{ kind: MeshService, namespace: a }', 'name: must be given with kind MeshService, or labels in its place'],
    ['{ kind: MeshService, name: A }', 'name: must be lower-case letters, digits, dots, hyphens and underscores'],
    ['{ kind: MeshService, name: [] }', 'name: must be lower-case letters, digits, dots, hyphens and underscores'],
    [
      '{ kind: MeshService, name: a, labels: { b: c } }',
      'labels: must not be set beside name or namespace: refer by one or the other',
    ],
    [
      '{ kind: MeshHTTPRoute, namespace: a, labels: { b: c } }',
      'labels: must not be set beside name or namespace: refer by one or the other',
    ],
    ['{ kind: MeshService, labels: { a/b: 1 } }', 'labels["a/b"]: must be text'],
    [
      '{ kind: MeshService, name: a, tags: { b: c } }',
      'tags: must not be set with kind MeshService: allowed are name, namespace, labels, sectionName',
    ],
    [
      '{ kind: MeshExternalService, name: a, sectionName: b }',
      'sectionName: must not be set with kind MeshExternalService: allowed are name, namespace, labels',
    ],
    [
      '{ kind: MeshHTTPRoute, name: a, sectionName: b }',
      'sectionName: must not be set with kind MeshHTTPRoute: allowed are name, namespace, labels',
    ],
    ['{ kind: MeshMultiZoneService, labels: {} }', 'name: must be given with kind MeshMultiZoneService, or labels in its place'],
  ])('may not be %s', (ref, line) => {
    const violations = findIn('MeshTimeout', at(ref)).violations.filter((found) => found.startsWith('spec.to[0].targetRef.'));
    expect(violations).toContain(`spec.to[0].targetRef.${line}`);
  });
});

describe('a reference at the top level', () => {
  it.each([
    '{ kind: Dataplane }',
    '{ kind: Dataplane, name: a, namespace: b, sectionName: http }',
    '{ kind: Dataplane, labels: { a: b } }',
  ])('may be %s', (ref) => {
    expect(findIn('MeshTimeout', top(ref))).toEqual(NOTHING_FOUND);
  });

  it('may have proxyTypes with kind Mesh, with a warning of the zones that do not read it', () => {
    expect(findIn('MeshTimeout', top('{ kind: Mesh, proxyTypes: [Sidecar] }'))).toEqual({
      violations: [],
      warnings: [
        'spec.targetRef.proxyTypes: takes effect in Meridian zones alone: a Kuma zone applies the policy to every proxy; use Dataplane with labels',
      ],
    });
  });

  it.each([
    [
      '{ kind: MeshSubset, tags: { a/b: c:d }, proxyTypes: [Sidecar] }',
      'MeshSubset is deprecated at the top level: use Dataplane with labels',
    ],
    ['{ kind: MeshService, name: a }', 'MeshService is deprecated at the top level: use Dataplane with labels'],
    [
      '{ kind: MeshServiceSubset, name: a, tags: { b: c } }',
      'MeshServiceSubset is deprecated at the top level: use Dataplane with labels',
    ],
    ['{ kind: MeshGateway, name: a }', 'MeshGateway selects nothing here: there are no built-in gateways'],
    ['{ kind: MeshTCPRoute, name: a }', 'MeshTCPRoute is deprecated at the top level: put the route in to[].targetRef'],
  ])('may be %s, with a warning', (ref, warning) => {
    expect(findIn('MeshTimeout', top(ref))).toEqual({ violations: [], warnings: [`spec.targetRef.kind: ${warning}`] });
  });

  it.each([
    ['{ kind: Dataplane, namespace: b }', 'name: must be given with kind Dataplane, or labels in its place'],
    [
      '{ kind: Dataplane, name: a, labels: { b: c } }',
      'labels: must not be set beside name or namespace: refer by one or the other',
    ],
    [
      '{ kind: Dataplane, tags: { b: c } }',
      'tags: must not be set with kind Dataplane: allowed are name, namespace, labels, sectionName',
    ],
    ['{ kind: MeshSubset, tags: { "a b": c } }', 'tags["a b"]: must have a key of letters, digits and . - _ : /'],
    ['{ kind: MeshSubset, tags: { a: "" } }', 'tags.a: must be letters, digits and . - _ :, not empty'],
    ['{ kind: MeshSubset, name: a }', 'name: must not be set with kind MeshSubset: allowed are tags, proxyTypes'],
    ['{ kind: MeshServiceSubset, tags: { b: c } }', 'name: must be given with kind MeshServiceSubset'],
    ['{ kind: MeshGateway, labels: { b: c } }', 'name: must be given with kind MeshGateway'],
  ])('may not be %s', (ref, line) => {
    expect(findIn('MeshTimeout', top(ref)).violations).toContain(`spec.targetRef.${line}`);
  });

  it('names a section only with rules', () => {
    const spec =
      'targetRef: { kind: Dataplane, sectionName: a }\nto: [{ targetRef: { kind: Mesh }, default: { idleTimeout: 1s } }]';
    expect(findIn('MeshTimeout', spec).violations).toEqual([
      'spec.targetRef.sectionName: must not be set without rules: only rules are about one inbound',
    ]);
  });
});

describe('a backendRef', () => {
  it.each([
    '{ kind: MeshService, name: a, port: 80, weight: 0 }',
    '{ kind: MeshService, name: a, namespace: b, sectionName: http, weight: 4294967295 }',
    '{ kind: MeshExternalService, labels: { a: b } }',
    '{ kind: MeshMultiZoneService, name: a, port: 80 }',
    '{ kind: MeshServiceSubset, name: a, tags: { v: "1" } }',
  ])('may be %s', (backend) => {
    expect(findIn('MeshHTTPRoute', route(backend))).toEqual(NOTHING_FOUND);
  });

  it.each([
    [
      '{ kind: MeshHTTPRoute, name: a }',
      'kind: must be one of MeshService, MeshExternalService, MeshMultiZoneService, MeshServiceSubset, not "MeshHTTPRoute"',
    ],
    ['{ kind: MeshService, name: a, weight: -1 }', 'weight: must be a whole number from 0 to 4294967295'],
    ['{ kind: MeshService, name: a, weight: 4294967296 }', 'weight: must be a whole number from 0 to 4294967295'],
    ['{ kind: MeshService, name: a, weight: 1.5 }', 'weight: must be a whole number from 0 to 4294967295'],
    ['{ kind: MeshService, name: a, port: 65536 }', 'port: must be a whole number from 1 to 65535'],
    ['{ kind: MeshService }', 'name: must be given with kind MeshService, or labels in its place'],
    ['{ kind: MeshMultiZoneService, name: a, sectionName: http }', 'port: must be given with kind MeshMultiZoneService'],
  ])('may not be %s', (backend, line) => {
    expect(findIn('MeshHTTPRoute', route(backend)).violations).toEqual([`spec.to[0].rules[0].default.backendRefs[0].${line}`]);
  });
});
