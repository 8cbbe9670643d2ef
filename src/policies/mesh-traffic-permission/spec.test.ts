// MeshTrafficPermission: good and bad confs (policies 1.3, 2.6, D23).
import { describe, expect, it } from 'vitest';
import { findIn, NOTHING_FOUND, type Found } from '../../validation/spec-table.fixture.ts';

const TYPE = 'MeshTrafficPermission';
const inRules = (conf: string, more = '', type = TYPE): Found =>
  findIn(type, `targetRef: { kind: Dataplane }\nrules: [{ default: ${conf}${more} }]`);
const violation = (line: string): Found => ({ violations: [line], warnings: [] });

describe('MeshTrafficPermission', () => {
  it('takes the example of MADR 095 with matches and deny', () => {
    expect(inRules('{ deny: [{ spiffeId: { type: Prefix, value: "spiffe://default/" } }] }', ', matches: []')).toEqual(
      NOTHING_FOUND,
    );
  });

  it.each(['{}', '{ allow: [] }'])('may not have %s', (conf) => {
    expect(inRules(conf)).toEqual(
      violation('spec.rules[0].default: must have at least one item in allow, deny, allowWithShadowDeny'),
    );
  });

  it.each([
    [
      '{ spiffeID: { type: Exact, value: "spiffe://a/b/" } }',
      '.spiffeID.value: must be a SPIFFE ID such as spiffe://trust-domain/path',
    ],
    [
      '{ spiffeID: { type: Exact, value: "spiffe://A" } }',
      '.spiffeID.value: must be a SPIFFE ID such as spiffe://trust-domain/path',
    ],
    [
      '{ spiffeID: { type: Prefix, value: "spiffe://" } }',
      '.spiffeID.value: must be the beginning of a SPIFFE ID: spiffe://trust-domain, with a path if wanted',
    ],
    [
      '{ spiffeID: { type: Prefix, value: "spiffe://a/../b" } }',
      '.spiffeID.value: must be the beginning of a SPIFFE ID: spiffe://trust-domain, with a path if wanted',
    ],
    ['{ spiffeID: { type: Regex, value: "spiffe://a" } }', '.spiffeID.type: must be one of Exact, Prefix, not "Regex"'],
    [
      '{ sni: { type: Exact, value: A } }',
      '.sni.value: must be a DNS name: lower-case letters, digits, hyphens and dots, at most 253 characters',
    ],
    ['{ sni: { type: Prefix, value: a } }', '.sni.type: must be Exact, not "Prefix"'],
    [
      '{ spiffeID: { type: Exact, value: "spiffe://a" }, spiffeId: { type: Exact, value: "spiffe://a" } }',
      '.spiffeId: must not be set beside spiffeID: both are spellings of one field',
    ],
  ])('may not allow %s', (match, line) => {
    expect(inRules(`{ allow: [${match}] }`)).toEqual(violation(`spec.rules[0].default.allow[0]${line}`));
  });

  it.each([
    ['deny', 'denies every client'],
    ['allow', 'permits no client'],
    ['allowWithShadowDeny', 'permits no client'],
  ])('says what an empty item of %s does', (key, effect) => {
    const warning = `spec.rules[0].default.${key}[0]: without spiffeID and sni it ${effect}`;
    expect(inRules(`{ ${key}: [{}] }`)).toEqual({ violations: [], warnings: [warning] });
  });

  it('needs a restrictive match in MeshTimeout and MeshRateLimit only', () => {
    const empty = ', matches: [{}]';
    expect(inRules('{ allow: [{ spiffeID: { type: Prefix, value: "spiffe://a" } }] }', empty)).toEqual(NOTHING_FOUND);
    for (const [type, conf] of [
      ['MeshTimeout', '{ idleTimeout: 1s }'],
      ['MeshRateLimit', '{ local: { tcp: { disabled: true } } }'],
    ] as const)
      expect(inRules(conf, empty, type)).toEqual(violation('spec.rules[0].matches[0]: must have at least one of spiffeID, sni'));
  });
});
