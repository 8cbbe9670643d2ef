// The output of `meridian explain` for types and fields.
import { describe, expect, it } from 'vitest';
import { specJsonSchema } from '../../validation/spec-json-schema.ts';
import { typeOf } from '../../resource/type-registry.ts';
import { explainText, fieldSchema } from './explain-text.ts';
import { readableTypes } from '../client/find.ts';

const GATEWAY_API = new Set(['HTTPRoute', 'TCPRoute']);

function explain(type: string, path: readonly string[] = [], recursive = false): string {
  const info = typeOf(type);
  return explainText(info, path, fieldSchema(info, specJsonSchema(type) ?? {}, path), { recursive });
}

describe('explain', () => {
  it('shows type, description, range and default of a field', () => {
    expect(explain('MeshMetric', ['default', 'backends', 'prometheus', 'port'])).toBe(
      [
        'TYPE     MeshMetric (meshmetrics, mm), in a mesh',
        'FIELD    default.backends.prometheus.port <integer>',
        'ABOUT    Port on which the proxy offers metrics.',
        'RANGE    1 to 65535',
        'DEFAULT  5670',
      ].join('\n'),
    );
  });

  it('lists the fields of the items of a list, with allowed values and defaults', () => {
    const lines = explain('MeshPassthrough', ['default', 'appendMatch']).split('\n');
    expect(lines).toContain('FIELD    default.appendMatch <[]object>');
    expect(lines).toContain(
      '  type <string> required   Whether value is a domain, an IP address or a range of them. Allowed: Domain, IP, CIDR.',
    );
    expect(lines).toContain(
      '  protocol <string>        Protocol of the traffic. With mysql the server may speak first; tcp is everything else but TLS. Allowed: tcp, tls, grpc, http, http2, mysql. Default: tcp.',
    );
  });

  it('names durations, maps, lists, and numbers that may be strings', () => {
    expect(explain('MeshTimeout', ['to', 'default'])).toContain('idleTimeout <duration>');
    expect(explain('MeshTimeout', ['to', 'targetRef'])).toContain('labels <map of string>');
    expect(explain('MeshHTTPRoute', ['to'])).toContain('hostnames <[]string>');
    expect(explain('MeshTrace', ['default', 'sampling'])).toContain('overall <integer or string>');
    expect(explain('MeshAccessLog', ['to', 'default', 'backends', 'openTelemetry'])).toContain('body <any>');
  });

  it('explains protobuf types, with and without the prefix spec', () => {
    expect(explain('Dataplane', ['networking', 'inbound'])).toContain('state <string>');
    expect(explain('Dataplane', ['spec', 'networking'])).toContain('address <string>');
    expect(explain('MeshTimeout', ['spec', 'to', 'default', 'idleTimeout'])).toContain('<duration>');
  });

  it('shows all nested fields with --recursive', () => {
    expect(explain('MeshTimeout', ['to'], true)).toMatch(/\n {6}requestTimeout <duration>/);
  });

  it('lists the existing fields when a path does not exist', () => {
    expect(() => explain('MeshTimeout', ['to', 'defalt'])).toThrow(
      'MeshTimeout.to has no field "defalt". Did you mean default?\nFields of MeshTimeout.to: targetRef, default',
    );
    expect(() => explain('MeshTimeout', ['to', 'default', 'idleTimeout', 'x'])).toThrow(
      'MeshTimeout.to.default.idleTimeout has no fields.',
    );
  });

  it('explains every type of the command line', () => {
    for (const { name } of readableTypes()) {
      if (GATEWAY_API.has(name)) expect(specJsonSchema(name)).toBeNull();
      else expect(explain(name, [], true)).toContain(`TYPE     ${name} (`);
    }
  });
});
