// The check agrees with a Kuma control plane about the specs of kuma-verdicts.txt, except for intended differences.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { createAuthority } from '../../src/base/self-signed.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { fieldsIn, find, findIn } from '../../src/validation/spec-table.fixture.ts';

type Verdict = { readonly type: string; readonly spec: string; readonly fields: readonly string[] };

const verdicts: Verdict[] = [];
let type = '';
for (const line of readFileSync(join(import.meta.dirname, 'kuma-verdicts.txt'), 'utf8')
  .split('\n')
  .slice(1)) {
  if (line.startsWith('+ ')) verdicts.push({ type, spec: line.slice(2), fields: [] });
  else if (line.startsWith('- ')) {
    const end = line.indexOf(' | ');
    verdicts.push({ type, spec: line.slice(end + 3), fields: line.slice(2, end).split(' ') });
  } else if (line !== '') type = line;
}
const OTEL = 'openTelemetry: { endpoint: "otel:4317" }';

/** The place in the document: Kuma names places of two types that documents do not have (policies 2.2, 2.6). */
function placeIn(type: string, spec: string, field: string): string {
  if (type === 'MeshRetry') return field.replace('.default.conf', '.default');
  const isOfRules = type === 'MeshCircuitBreaker' && spec.includes('rules:') && !spec.includes('from:');
  return isOfRules ? field.replace(/^spec\.from\[/, 'spec.rules[') : field;
}

describe('specs with a recorded verdict of Kuma', () => {
  it('are many, of many types', () => {
    expect(verdicts.length).toBeGreaterThan(400);
    expect(new Set(verdicts.map((verdict) => verdict.type)).size).toBeGreaterThan(20);
  });

  it.each(verdicts)('$type $spec: violations of $fields', ({ type, spec, fields }) => {
    const found = find(type, parse(spec) as JsonObject, { strict: false });
    const expected = fields.map((field) => placeIn(type, spec, field));
    expect([...new Set(found.violations.map((line) => line.slice(0, line.indexOf(': '))))]).toEqual(expected);
  });

  it('take a certificate in a MeshTrust', async () => {
    const { certPem } = await createAuthority('a.b', new Date());
    const trust = (value: string): JsonObject => ({ trustDomain: 'a.b', caBundles: [{ type: 'Pem', pem: { value } }] });
    expect(find('MeshTrust', trust(certPem)).violations).toEqual([]);
    expect(find('MeshTrust', trust(certPem.replace(/\n.*\n/, '\nAAAA\n'))).violations).toEqual([
      'spec.caBundles[0].pem.value: must be a certificate in PEM form',
    ]);
  });
});

describe('our check differs from Kuma', () => {
  it.each([
    ['the old address of a collector', 'MeshTrace', `default: { backends: [{ type: OpenTelemetry, ${OTEL} }] }`],
    ['the old address of a collector', 'MeshMetric', `default: { backends: [{ type: OpenTelemetry, ${OTEL} }] }`],
    ['tags of services', 'MeshService', 'identities: [{ type: ServiceTag, value: a }]'],
    [
      'a slash after a prefix',
      'MeshTrafficPermission',
      'rules: [{ default: { allow: [{ spiffeID: { type: Prefix, value: "spiffe://a/" } }] } }]',
    ],
    [
      'headers in upper case',
      'MeshHTTPRoute',
      'to: [{ targetRef: { kind: MeshService, labels: { a: b } }, rules: [{ matches: [{}], default: { filters: [{ type: RequestHeaderModifier, requestHeaderModifier: { set: [{ name: X-A, value: b }] } }] } }] }]',
    ],
  ])('and accepts %s in %s', (_, type, spec) => {
    expect(fieldsIn(type, spec)).toEqual([]);
  });

  it.each([
    ['ports that no service has', 'MeshService', 'ports: [{ port: 70000 }, { port: 0 }, { port: 1, targetPort: 0 }]', 3],
    ['no name of a Dataplane', 'MeshService', 'selector: { dataplaneRef: {} }', 1],
    ['no SPIFFE ID', 'MeshService', 'identities: [{ type: SpiffeID, value: "" }]', 1],
    ['addresses without a port', 'MeshAccessLog', address('1.2.3.4'), 1],
    ['URLs as addresses', 'MeshAccessLog', address('tcp://a:80'), 1],
    ['ports that are too large', 'MeshAccessLog', address('a:70000'), 1],
    ['templates that no control plane of ours renders', 'MeshIdentity', 'spiffeID: { path: "{{ if .Mesh }}x{{ end }}" }', 1],
    [
      'a certificate that cannot be read',
      'MeshExternalService',
      'match: { port: 443 }\nendpoints: [{ address: a.b, port: 1 }]\ntls: { verification: { caCert: { type: InsecureInline, insecureInline: { value: abc } } } }',
      1,
    ],
    [
      'bytes that are no base64',
      'MeshHealthCheck',
      'to: [{ targetRef: { kind: Mesh }, default: { tcp: { send: "not base64!" } } }]',
      1,
    ],
    [
      'a regular expression that cannot be read',
      'MeshHTTPRoute',
      'to: [{ targetRef: { kind: MeshService, labels: { a: b } }, rules: [{ matches: [{ path: { type: RegularExpression, value: "a(" } }], default: {} }] }]',
      1,
    ],
    [
      'a server name on a port where none is read',
      'MeshPassthrough',
      'default: { appendMatch: [{ type: IP, value: 1.2.3.4, port: 5, protocol: mysql }, { type: Domain, value: a.b, port: 5, protocol: tls }] }',
      1,
    ],
    ['no bandwidth', 'MeshFaultInjection', fault('responseBandwidth: { limit: 0kbps, percentage: 5 }'), 1],
    ['statuses that are no answer', 'MeshFaultInjection', fault('abort: { httpStatus: 100, percentage: 5 }'), 1],
    ['no delay', 'MeshFaultInjection', fault('delay: { value: 0s, percentage: 5 }'), 1],
    [
      'a log format that Envoy cannot read',
      'MeshAccessLog',
      'to: [{ targetRef: { kind: Mesh }, default: { backends: [{ type: File, file: { path: /a, format: { type: Plain, plain: "%REQ(" } } }] } }]',
      1,
    ],
    [
      'a ring whose minimum is above its maximum',
      'MeshLoadBalancingStrategy',
      'to: [{ targetRef: { kind: Mesh }, default: { loadBalancer: { type: RingHash, ringHash: { minRingSize: 9, maxRingSize: 8 } } } }]',
      1,
    ],
    [
      'a factor beyond 32 bits',
      'MeshCircuitBreaker',
      'to: [{ targetRef: { kind: Mesh }, default: { outlierDetection: { detectors: { successRate: { standardDeviationFactor: 4294968 } } } } }]',
      1,
    ],
    [
      'a shorter longest back-off than the first one',
      'MeshRetry',
      'to: [{ targetRef: { kind: Mesh }, default: { http: { backOff: { baseInterval: 2s, maxInterval: 1s } } } }]',
      1,
    ],
    [
      'a changed host header',
      'MeshRateLimit',
      'targetRef: { kind: Dataplane }\nrules: [{ default: { local: { http: { onRateLimit: { headers: { set: [{ name: Host, value: b }] } } } } } }]',
      1,
    ],
    [
      'an exact match of nothing',
      'MeshRetry',
      'to: [{ targetRef: { kind: Mesh }, default: { http: { retriableRequestHeaders: [{ name: a }] } } }]',
      1,
    ],
  ])('and refuses %s in %s', (_, type, spec, count) => {
    expect(fieldsIn(type, spec)).toHaveLength(count);
  });

  it.each(['Not Valid', 'a_b', 'a.b', 'Aa', '', '-a', 'a-', 'a'.repeat(64)])('and refuses the section name "%s"', (name) => {
    const reason =
      'must be an RFC 1123 label: lower-case letters, digits and hyphens, at most 63 characters, with a letter or digit at both ends';
    const quoted = JSON.stringify(name);
    expect(findIn('MeshService', `ports: [{ port: 1, name: ${quoted} }]`).violations).toEqual([`spec.ports[0].name: ${reason}`]);
    const rules = 'rules: [{ default: { idleTimeout: 1s } }]';
    expect(findIn('MeshTimeout', `targetRef: { kind: Dataplane, sectionName: ${quoted} }\n${rules}`).violations).toEqual([
      `spec.targetRef.sectionName: ${reason}`,
    ]);
  });

  it.each(['http', '8080', 'a-b', 'a'.repeat(63)])('and accepts the section name "%s"', (name) => {
    expect(fieldsIn('MeshService', `ports: [{ port: 1, name: "${name}" }]`)).toEqual([]);
  });
});

function fault(of: string): string {
  return `targetRef: { kind: Dataplane }\nrules: [{ default: { http: [{ ${of} }] } }]`;
}

function address(value: string): string {
  return `to: [{ targetRef: { kind: Mesh }, default: { backends: [{ type: Tcp, tcp: { address: "${value}" } }] } }]`;
}
