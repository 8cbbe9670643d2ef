// MeshTimeout: good and bad confs (policies 1.3, 2.1).
import { describe, expect, it } from 'vitest';
import { findIn, NOTHING_FOUND } from '../../validation/spec-table.fixture.ts';

const inTo = (conf: string): string => `to: [{ targetRef: { kind: Mesh }, default: ${conf} }]`;
const inRules = (conf: string, matches: string): string => `rules: [{ matches: ${matches}, default: ${conf} }]`;
const SPIFFE = '[{ sni: { type: Exact, value: a.b } }, { spiffeID: { type: Exact, value: "spiffe://a/b" } }]';
const NOT_NEGATIVE = 'must be a duration such as "10s" or "1m30s", not negative';
const POSITIVE = 'must be a duration such as "10s" or "1m30s", greater than 0';

describe('MeshTimeout', () => {
  it.each([
    inTo('{ connectionTimeout: 1ns, idleTimeout: 0s, http: { requestTimeout: "0", streamIdleTimeout: 1h30m0.5s } }'),
    inTo('{ http: { maxStreamDuration: 1m, maxConnectionDuration: 2h, requestHeadersTimeout: 5s, requestTimeout: null } }'),
    inRules('{ idleTimeout: 1s, connectionTimeout: 1s }', '[{ sni: { type: Exact, value: a.b } }]'),
    inRules('{ http: { requestTimeout: 1s } }', SPIFFE),
    `rules: [{ default: { idleTimeout: 1s } }, { matches: ${SPIFFE}, default: { http: { requestTimeout: 1s } } }]`,
  ])('may be %s', (spec) => {
    expect(findIn('MeshTimeout', spec)).toEqual(NOTHING_FOUND);
  });

  it.each([
    ['{}', ['must have at least one of connectionTimeout, idleTimeout, http'], ''],
    ['{ connectionTimeout: 0s }', [POSITIVE], '.connectionTimeout'],
    ['{ idleTimeout: -1s }', [NOT_NEGATIVE], '.idleTimeout'],
    ['{ idleTimeout: 10 }', [NOT_NEGATIVE], '.idleTimeout'],
    ['{ idleTimeout: 10 s }', [NOT_NEGATIVE], '.idleTimeout'],
    ['{ idleTimeout: 9999999h }', [NOT_NEGATIVE], '.idleTimeout'],
    [
      '{ http: {} }',
      ['must have at least one of requestTimeout, streamIdleTimeout, maxStreamDuration, maxConnectionDuration'],
      '.http',
    ],
    [
      '{ http: { requestHeadersTimeout: 1s } }',
      ['must have at least one of requestTimeout, streamIdleTimeout, maxStreamDuration, maxConnectionDuration'],
      '.http',
    ],
    ['{ http: { requestTimeout: 1day } }', [NOT_NEGATIVE], '.http.requestTimeout'],
    ['{ http: 1 }', ['must be an object'], '.http'],
    ['7', ['must be an object'], ''],
    ['null', ['must be given: an object'], ''],
  ])('may not have default %s', (conf, reasons, path) => {
    expect(findIn('MeshTimeout', inTo(conf))).toEqual({
      violations: reasons.map((reason) => `spec.to[0].default${path}: ${reason}`),
      warnings: [],
    });
  });

  it('names every violation of a document at once', () => {
    const spec =
      'targetRef: { kind: Foo }\nto: [7, { targetRef: { kind: MeshService }, default: { idleTimeout: x, http: { requestTimeout: -1s } } }]\nrules: {}';
    expect(findIn('MeshTimeout', spec).violations).toEqual([
      'spec.targetRef.kind: must be one of Mesh, Dataplane, MeshSubset, MeshService, MeshServiceSubset, MeshGateway, MeshHTTPRoute, MeshTCPRoute, not "Foo"',
      'spec.to[0]: must be an object',
      `spec.to[1].default.idleTimeout: ${NOT_NEGATIVE}`,
      `spec.to[1].default.http.requestTimeout: ${NOT_NEGATIVE}`,
      'spec.rules: must be a list',
      'spec.to[1].targetRef.name: must be given with kind MeshService, or labels in its place',
    ]);
  });

  it('refuses fields that act before the client is known beside a SPIFFE ID', () => {
    const conf =
      '{ connectionTimeout: 1s, idleTimeout: 1s, http: { requestTimeout: 1s, streamIdleTimeout: 1s, requestHeadersTimeout: 1s, maxStreamDuration: 1s, maxConnectionDuration: 1s } }';
    expect(findIn('MeshTimeout', inRules(conf, SPIFFE)).violations).toEqual(
      [
        'connectionTimeout',
        'idleTimeout',
        'http.maxStreamDuration',
        'http.maxConnectionDuration',
        'http.requestHeadersTimeout',
      ].map(
        (field) =>
          `spec.rules[0].default.${field}: must not be set beside a match by spiffeID: it takes effect before the client is known`,
      ),
    );
  });

  it('refuses connection fields below a top-level route', () => {
    const spec = `targetRef: { kind: MeshHTTPRoute, name: a }\n${inTo('{ connectionTimeout: 1s, idleTimeout: 1s, http: { requestTimeout: 1s, maxStreamDuration: 1s } }')}\nfrom: [{ targetRef: { kind: Mesh }, default: { idleTimeout: 1s } }]`;
    expect(findIn('MeshTimeout', spec).violations).toEqual([
      'spec.from: must not be set below a top-level MeshHTTPRoute',
      ...['connectionTimeout', 'idleTimeout', 'http.maxStreamDuration'].map(
        (field) => `spec.to[0].default.${field}: must not be set below a top-level route: it belongs to the connection`,
      ),
    ]);
  });
});
