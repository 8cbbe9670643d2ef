// The defaults and durations of specs, the places where they are filled in, and a completed spec, which stays as it is.
import { fc } from '../../test/support/property.ts';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { initialPolicies } from '../defaults/default-resources.ts';
import type { JsonObject } from '../resource/types.ts';
import { completeSpec } from './complete-spec.ts';
import { specDefinitions } from './schemas.ts';
import { specOf } from './arbitrary-spec.fixture.ts';
import { shapeOf, type Shape } from '../schema/spec-shape.ts';

/** A type, a spec without defaults, and the same spec with them. */
const CASES: readonly (readonly [string, string, string])[] = [
  [
    'MeshAccessLog',
    '{ rules: [{ default: { backends: [{ type: File, file: { path: /a, format: { type: Plain, plain: x } } }, { type: Tcp, tcp: { address: "a:1" } }] } }] }',
    '{ rules: [{ default: { backends: [{ type: File, file: { path: /a, format: { type: Plain, plain: x, omitEmptyValues: false } } }, { type: Tcp, tcp: { address: "a:1" } }] } }] }',
  ],
  [
    'MeshExternalService',
    '{ match: { port: 80 }, tls: { version: {}, verification: { subjectAltNames: [{ value: x }] } } }',
    '{ match: { port: 80, type: HostnameGenerator, protocol: tcp }, tls: { enabled: false, allowRenegotiation: false, version: { min: TLSAuto, max: TLSAuto }, verification: { mode: Secured, subjectAltNames: [{ value: x, type: Exact }] } } }',
  ],
  [
    'MeshHTTPRoute',
    '{ to: [{ targetRef: { kind: MeshService, name: a }, rules: [{ matches: [{ headers: [{ name: a, value: b }] }], default: { backendRefs: [{ kind: MeshService, name: a }], filters: [{ type: RequestMirror, requestMirror: { backendRef: { kind: MeshService, name: a } } }, { type: RequestRedirect, requestRedirect: {} }] } }] }] }',
    '{ to: [{ targetRef: { kind: MeshService, name: a }, rules: [{ matches: [{ headers: [{ name: a, value: b, type: Exact }] }], default: { backendRefs: [{ kind: MeshService, name: a, weight: 1 }], filters: [{ type: RequestMirror, requestMirror: { backendRef: { kind: MeshService, name: a, weight: 1 } } }, { type: RequestRedirect, requestRedirect: { statusCode: 302 } }] } }] }] }',
  ],
  [
    'MeshTCPRoute',
    '{ to: [{ rules: [{ default: { backendRefs: [{ kind: MeshService, name: a }, { kind: MeshService, name: b, weight: 0 }] } }] }] }',
    '{ to: [{ rules: [{ default: { backendRefs: [{ kind: MeshService, name: a, weight: 1 }, { kind: MeshService, name: b, weight: 0 }] } }] }] }',
  ],
  [
    'MeshRetry',
    '{ to: [{ default: { http: { hostSelection: [{ predicate: OmitPreviousPriorities }], retriableRequestHeaders: [{ name: a }], retriableResponseHeaders: [{ name: a }] } } }] }',
    '{ to: [{ default: { http: { hostSelection: [{ predicate: OmitPreviousPriorities, updateFrequency: 2 }], retriableRequestHeaders: [{ name: a, type: Exact }], retriableResponseHeaders: [{ name: a, type: Exact }] } } }] }',
  ],
  ['MeshService', '{ ports: [{ port: 80 }] }', '{ ports: [{ port: 80, appProtocol: tcp }], state: Unavailable }'],
  [
    'MeshMultiZoneService',
    '{ ports: [{ port: 80 }, { port: 81, appProtocol: http }] }',
    '{ ports: [{ port: 80, appProtocol: tcp }, { port: 81, appProtocol: http }] }',
  ],
  [
    'MeshMetric',
    '{ default: { applications: [{ port: 1 }], backends: [{ type: Prometheus, prometheus: { tls: {} } }, { type: Prometheus, prometheus: {} }] } }',
    '{ default: { applications: [{ port: 1, path: /metrics }], backends: [{ type: Prometheus, prometheus: { path: /metrics, port: 5670, tls: { mode: Disabled } } }, { type: Prometheus, prometheus: { path: /metrics, port: 5670 } }] } }',
  ],
  ['MeshOpenTelemetryBackend', '{ env: {} }', '{ env: { mode: Optional, precedence: EnvFirst } }'],
  [
    'MeshPassthrough',
    '{ default: { appendMatch: [{ type: IP, value: 10.0.0.1 }] } }',
    '{ default: { appendMatch: [{ type: IP, value: 10.0.0.1, protocol: tcp }] } }',
  ],
  [
    'MeshTLS',
    '{ rules: [{ default: { tlsVersion: {} } }, { default: {} }] }',
    '{ rules: [{ default: { tlsVersion: { min: TLSAuto, max: TLSAuto } } }, { default: {} }] }',
  ],
  [
    'MeshTrace',
    '{ default: { backends: [{ type: Datadog, datadog: { url: x } }, { type: Zipkin, zipkin: { url: x } }] } }',
    '{ default: { backends: [{ type: Datadog, datadog: { url: x, splitService: false } }, { type: Zipkin, zipkin: { url: x, apiVersion: httpJson, sharedSpanContext: true, traceId128bit: false } }] } }',
  ],
  ['MeshHTTPRoute', '{ to: [{ rules: [{ matches: [{}] }] }] }', '{ to: [{ rules: [{ matches: [{}] }] }] }'],
  ['MeshExternalService', '{ match: null }', '{ match: null }'],
  ['MeshExternalService', '{ match: { type: null, protocol: null } }', '{ match: { type: HostnameGenerator, protocol: tcp } }'],
  ['MeshExternalService', '{ match: x, tls: [1] }', '{ match: x, tls: [1] }'],
  ['MeshTimeout', '{ to: [{ default: { idleTimeout: 60s } }] }', '{ to: [{ default: { idleTimeout: 1m0s } }] }'],
  ['MeshTimeout', '{ to: [{ default: { idleTimeout: soon } }, 5] }', '{ to: [{ default: { idleTimeout: soon } }, 5] }'],
  ['Dataplane', '{ a: 60s }', '{ a: 60s }'],
];

describe('completeSpec', () => {
  it.each(CASES)('fills the defaults of %s when the parent object exists: %s', (type, given, completed) => {
    const spec = parse(given) as JsonObject;
    const before = structuredClone(spec);
    expect(completeSpec(type, spec)).toEqual(parse(completed));
    expect(spec).toEqual(before);
  });

  it.each([...specDefinitions.keys()])('%s: is idempotent and removes nothing', (type) => {
    fc.assert(
      fc.property(specOf(type), (spec) => {
        const before = structuredClone(spec);
        const once = completeSpec(type, spec);
        expect(spec).toEqual(before);
        expect(completeSpec(type, once)).toBe(once);
        expect(keysIn(once)).toEqual(expect.arrayContaining(keysIn(spec)));
      }),
    );
  });

  it.each([...specDefinitions].map(([type, { schema }]) => [type, shapeOf(schema)] as const))(
    '%s: each default is valid for its field',
    (_type, shape) => {
      for (const field of fieldsOf(shape)) {
        if (field.default === undefined) continue;
        if (field.shape.is === 'whole') expect(field.default).toBeGreaterThanOrEqual(field.shape.min);
        else expect({ flag: 'boolean', text: 'string' }[field.shape.is as 'flag']).toBe(typeof field.default);
      }
    },
  );
});

it('changes nothing in the default policies of a mesh', () => {
  for (const { type, spec } of initialPolicies('default', {})) expect(completeSpec(type, spec)).toBe(spec);
});

function keysIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => [key, ...keysIn(member).map((inner) => `${key}.${inner}`)]);
}

function fieldsOf(shape: Shape): { shape: Shape; default: unknown }[] {
  if (shape.is === 'list') return fieldsOf(shape.item);
  if (shape.is === 'map') return fieldsOf(shape.value);
  if (shape.is !== 'object') return [];
  return [...shape.fields.values()].flatMap((field) => [field, ...fieldsOf(field.shape)]);
}
