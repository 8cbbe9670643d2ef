// The old address of a collector has one form in each policy that may name one.
import { expect, it } from 'vitest';
import { COLLECTOR_ENDPOINT_FORM } from './collector-endpoint.ts';
import { findIn } from '../validation/spec-table.fixture.ts';

const SECTIONS = [
  ['MeshTrace', 'default', 'spec.default'],
  ['MeshMetric', 'default', 'spec.default'],
  ['MeshAccessLog', 'to', 'spec.to[0].default'],
  ['MeshAccessLog', 'rules', 'spec.rules[0].default'],
  ['MeshAccessLog', 'from', 'spec.from[0].default'],
] as const;

function found(type: string, section: string, endpoint: unknown): readonly string[] {
  const conf = `{ backends: [{ type: OpenTelemetry, openTelemetry: { endpoint: ${JSON.stringify(endpoint)} } }] }`;
  const inItem = section === 'rules' ? `{ default: ${conf} }` : `{ targetRef: { kind: Mesh }, default: ${conf} }`;
  return findIn(type, `${section}: ${section === 'default' ? conf : `[${inItem}]`}`).violations;
}

it.each(SECTIONS)('a %s takes a host with a port in %s, and nothing else', (type, section, at) => {
  expect(found(type, section, 'otel.example:4317')).toEqual([]);
  expect(found(type, section, '[fd00:7::5]:4317')).toEqual([]);
  const refusal = `${at}.backends[0].openTelemetry.endpoint: must be ${COLLECTOR_ENDPOINT_FORM}`;
  for (const endpoint of ['otel.example:71000', 'otel:0', 'fd00:7::5', ':4317', 'https://otel.example:4317/v1', '', 4317])
    expect(found(type, section, endpoint)).toEqual([refusal]);
});
