// MeshRateLimit: good and bad confs (policies 1.3, 2.6).
import { describe, expect, it } from 'vitest';
import { findIn, NOTHING_FOUND, type Found } from '../../validation/spec-table.fixture.ts';

const TYPE = 'MeshRateLimit';
const inRules = (conf: string, more = '', type = TYPE): Found =>
  findIn(type, `targetRef: { kind: Dataplane }\nrules: [{ default: ${conf}${more} }]`);
const violation = (line: string): Found => ({ violations: [line], warnings: [] });
const COUNT = 'must be a whole number from 1 to 2147483647';

describe('MeshRateLimit', () => {
  it.each([
    '{ local: { http: { requestRate: { num: 1, interval: 51ms }, onRateLimit: { status: 429, headers: { set: [{ name: a, value: b }] } } } } }',
    '{ local: { tcp: { connectionRate: { num: 1, interval: 1s } }, http: { disabled: true } } }',
  ])('may have %s', (conf) => {
    expect(inRules(conf)).toEqual(NOTHING_FOUND);
  });

  it.each([
    ['{}', '.local: must be given: an object'],
    ['{ local: {} }', '.local: must have at least one of http, tcp'],
    ['{ local: { http: {} } }', '.local.http: must have at least one of disabled, requestRate, onRateLimit'],
    ['{ local: { tcp: {} } }', '.local.tcp: must have at least one of disabled, connectionRate'],
    ['{ local: { http: { requestRate: { num: 0, interval: 1s } } } }', `.local.http.requestRate.num: ${COUNT}`],
    [
      '{ local: { http: { requestRate: { num: 1, interval: 50ms } } } }',
      '.local.http.requestRate.interval: must be a duration such as "10s" or "1m30s", greater than 50ms',
    ],
    [
      '{ local: { http: { requestRate: { num: 1 } } } }',
      '.local.http.requestRate.interval: must be given: a duration such as "10s" or "1m30s", greater than 50ms',
    ],
  ])('may not have %s', (conf, line) => {
    expect(inRules(conf)).toEqual(violation(`spec.rules[0].default${line}`));
  });

  it.each([100, 200, 399, 418, 425, 451, 509, 599])('warns that Envoy answers 429 in place of status %d', (status) => {
    expect(inRules(`{ local: { http: { onRateLimit: { status: ${String(status)} } } } }`)).toEqual({
      violations: [],
      warnings: [
        `spec.rules[0].default.local.http.onRateLimit.status: Envoy cannot answer a limited request with ${String(status)}: clients get 429`,
      ],
    });
  });

  it.each([400, 429, 503, 511])('has no warning for status %d', (status) => {
    expect(inRules(`{ local: { http: { onRateLimit: { status: ${String(status)} } } } }`)).toEqual(NOTHING_FOUND);
  });

  it('may not limit connections by SPIFFE ID', () => {
    const matches = ', matches: [{ spiffeId: { type: Prefix, value: "spiffe://a/" } }]';
    expect(inRules('{ local: { tcp: { disabled: true } } }', matches)).toEqual(
      violation(
        'spec.rules[0].default.local.tcp: must not be set beside a match by spiffeID: it takes effect before the client is known',
      ),
    );
  });
});
