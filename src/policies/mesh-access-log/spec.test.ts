// MeshAccessLog: good and bad backends (policies 2.4).
import { describe, expect, it } from 'vitest';
import { findIn, NOTHING_FOUND } from '../../validation/spec-table.fixture.ts';

const inTo = (conf: string): string => `to: [{ targetRef: { kind: Mesh }, default: ${conf} }]`;
const backend = (value: string): string => inTo(`{ backends: [${value}] }`);
const otel = (value: string): string => backend(`{ type: OpenTelemetry, openTelemetry: ${value} }`);
const REF = 'backendRef: { kind: MeshOpenTelemetryBackend, labels: { a: b } }';
const KEY = 'must be lower-case letters and digits, single dots and underscores between them, not beginning with otel.';

describe('MeshAccessLog', () => {
  it.each([
    inTo('{ backends: [] }'),
    backend('{ type: Tcp, tcp: { address: "127.0.0.1:5000", format: { type: Plain, plain: "%START_TIME%" } } }'),
    backend(
      '{ type: File, file: { path: /dev/stdout, format: { type: Json, json: [{ key: a, value: b }], omitEmptyValues: true } } }',
    ),
    otel(`{ ${REF}, attributes: [{ key: mesh.name_1, value: "%KUMA_MESH%" }], body: { any: [1, { __x: null }] } }`),
    otel('{ backendRef: { kind: MeshOpenTelemetryBackend, name: a }, body: text }'),
    'rules: [{ matches: [{}], default: { backends: [] } }]',
  ])('may be %s', (spec) => {
    expect(findIn('MeshAccessLog', spec)).toEqual(NOTHING_FOUND);
  });

  it.each([
    [inTo('{}'), ': must be given: a list'],
    [backend('{}'), '[0].type: must be given: one of Tcp, File, OpenTelemetry'],
    [backend('{ type: Udp }'), '[0].type: must be one of Tcp, File, OpenTelemetry, not "Udp"'],
    [backend('{ type: Tcp }'), '[0].tcp: must be given with type Tcp'],
    [backend('{ type: Tcp, tcp: {} }'), '[0].tcp.address: must be given: a host and a port, such as "logs.example:5000"'],
    [backend('{ type: File, file: { path: "" } }'), '[0].file.path: must be an absolute path: begin with "/"'],
    [
      backend('{ type: File, file: { path: /a, format: { type: Plain } } }'),
      '[0].file.format.plain: must be given with type Plain',
    ],
    [
      backend('{ type: File, file: { path: /a, format: { type: Plain, plain: "" } } }'),
      '[0].file.format.plain: must be text that is not empty',
    ],
    [
      backend('{ type: File, file: { path: /a, format: { type: Json, json: [] } } }'),
      '[0].file.format.json: must have at least 1 item',
    ],
    [otel('{}'), '[0].openTelemetry.backendRef: must be given'],
    [
      otel('{ backendRef: { kind: MeshOpenTelemetryBackend } }'),
      '[0].openTelemetry.backendRef.labels: must have at least one label',
    ],
    [
      otel('{ backendRef: { kind: MeshService, labels: { a: b } } }'),
      '[0].openTelemetry.backendRef.kind: must be MeshOpenTelemetryBackend, not "MeshService"',
    ],
    [otel(`{ ${REF}, attributes: [{ key: Upper, value: a }] }`), `[0].openTelemetry.attributes[0].key: ${KEY}`],
    [otel(`{ ${REF}, attributes: [{ key: otel.x, value: a }] }`), `[0].openTelemetry.attributes[0].key: ${KEY}`],
    [otel(`{ ${REF}, attributes: [{ key: a..b, value: a }] }`), `[0].openTelemetry.attributes[0].key: ${KEY}`],
  ])('may not be %s', (spec, line) => {
    expect(findIn('MeshAccessLog', spec)).toEqual({ violations: [`spec.to[0].default.backends${line}`], warnings: [] });
  });

  it('takes an endpoint with a warning, and never beside a backendRef', () => {
    const warnings = ['spec.to[0].default.backends[0].openTelemetry.endpoint: is deprecated: use backendRef'];
    expect(findIn('MeshAccessLog', otel('{ endpoint: "otel:4317" }'))).toEqual({ violations: [], warnings });
    expect(findIn('MeshAccessLog', otel(`{ endpoint: "otel:4317", ${REF} }`))).toEqual({
      violations: ['spec.to[0].default.backends[0].openTelemetry.endpoint: must not be set beside backendRef'],
      warnings,
    });
  });
});
