// Every YAML of GEP-718, in the order of the document, each in the smallest route around it.
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { parseRoute } from '../../src/gateway-api/parse-route.ts';
import type { Resolver } from '../../src/gateway-api/service-resolver.ts';
import { routeStatus } from '../../src/gateway-api/route-status.ts';
import { toMeshRoutes } from '../../src/gateway-api/to-mesh-routes.ts';
import type { JsonObject } from '../../src/resource/types.ts';

const SERVICES = `
forwardTo:
- backendRef:
    name: foo-service-v1
  port: 80
  weight: 80
- backendRef:
    name: foo-service-canary
  port: 80
  weight: 20
`;
const CUSTOM = `
forwardTo:
- backendRef:
    name: foo-v1
    kind: server
    group: networking.acme.io
  port: 80
  weight: 80
- backendRef:
    name: foo-v1-canary
    kind: server
    group: networking.acme.io
  port: 80
  weight: 20
`;
const CONSOLIDATED = `
backendRefs:
- name: foo-v1
  kind: server
  group: networking.acme.io
  port: 80
  weight: 80
- name: foo-v1-canary
  kind: server
  group: networking.acme.io
  port: 80
  weight: 20
`;
// The document indents `kind` below `port`, which is no YAML.
const BACKEND_NAME = `
forwardTo:
- backendName: foo
  port: 80
  kind: Service
`;

function routeWith(rule: string, version = 'v1alpha1'): JsonObject {
  return {
    apiVersion: `gateway.networking.k8s.io/${version}`,
    kind: 'HTTPRoute',
    metadata: { name: 'foo', namespace: 'shop' },
    spec: { parentRefs: [{ kind: 'Service', name: 'foo' }], rules: [parse(rule) as JsonObject] },
  };
}

const findServices: Resolver = (ref) =>
  ref.group === ''
    ? { found: { kind: 'MeshService', name: ref.name, namespace: ref.namespace, ports: [{ port: 80 }] } }
    : { foreign: `nobody resolves ${ref.kind}.${ref.group}` };

function convert(document: JsonObject, resolve: Resolver): ReturnType<typeof toMeshRoutes> {
  const parsed = parseRoute(document);
  if ('violations' in parsed) throw new Error(JSON.stringify(parsed.violations));
  return toMeshRoutes(parsed.route, resolve);
}

function violationsOf(document: JsonObject): string[] {
  const parsed = parseRoute(document);
  return 'violations' in parsed ? parsed.violations.map(({ field, reason }) => `${field}: ${reason}`) : [];
}

describe('GEP-718', () => {
  it('takes a Kubernetes Service without kind', () => {
    const [route] = convert(routeWith(SERVICES), findServices).resources;
    expect(route?.spec).toEqual({
      targetRef: { kind: 'Mesh' },
      to: [
        {
          targetRef: { kind: 'MeshService', name: 'foo', namespace: 'shop' },
          rules: [
            {
              matches: [{ path: { type: 'PathPrefix', value: '/' } }],
              default: {
                backendRefs: [
                  { kind: 'MeshService', name: 'foo-service-v1', namespace: 'shop', port: 80, weight: 80 },
                  { kind: 'MeshService', name: 'foo-service-canary', namespace: 'shop', port: 80, weight: 20 },
                ],
              },
            },
          ],
        },
      ],
    });
  });

  it.each([
    ['custom backends in forwardTo', CUSTOM, 'forwardTo'],
    ['custom backends in backendRefs', CONSOLIDATED, 'backendRefs'],
  ])('keeps %s, and reports them while they are unresolved', (_, rule, list) => {
    const parsed = parseRoute(routeWith(rule));
    const backends = 'route' in parsed ? parsed.route.rules.flatMap((item) => item.backends) : [];
    const ref = { group: 'networking.acme.io', kind: 'server', namespace: 'shop', port: 80 };
    expect(backends).toEqual([
      { ...ref, name: 'foo-v1', weight: 80, filters: [], at: `spec.rules[0].${list}[0]` },
      { ...ref, name: 'foo-v1-canary', weight: 20, filters: [], at: `spec.rules[0].${list}[1]` },
    ]);
    const conversion = convert(routeWith(rule), findServices);
    expect(conversion.resources).toEqual([]);
    const status = routeStatus(conversion, { former: undefined, now: new Date(0) });
    expect(JSON.stringify(status)).toContain('"reason":"DegradedRoutes"');
    expect(JSON.stringify(status)).toContain(`spec.rules[0].${list}[1]: server.networking.acme.io`);
  });

  it('forwards to custom backends that the resolver knows', () => {
    const resolveAll: Resolver = (ref) => findServices({ ...ref, group: '' });
    const routes = [CUSTOM, CONSOLIDATED].map((rule) => convert(routeWith(rule), resolveAll).resources);
    expect(routes[0]).toEqual(routes[1]);
    expect(JSON.stringify(routes[0])).toContain('"name":"foo-v1-canary","namespace":"shop","port":80,"weight":20');
  });

  it.each(['v1alpha1', 'v1alpha2', 'v1beta1', 'v1'])('accepts both spellings in %s', (version) => {
    for (const rule of [SERVICES, CUSTOM, CONSOLIDATED]) expect(violationsOf(routeWith(rule, version))).toEqual([]);
  });

  it('refuses the rejected alternative, field by field', () => {
    expect(violationsOf(routeWith(BACKEND_NAME))).toEqual([
      'spec.rules[0].forwardTo[0].backendRef: must be given: write backendRef: {name: …} and port: …',
      'spec.rules[0].forwardTo[0].backendName: is not supported here; supported fields: backendRef, port, weight',
      'spec.rules[0].forwardTo[0].kind: belongs into backendRef: write backendRef: {kind: "Service"}',
    ]);
  });

  it('refuses serviceName with the replacement, in forwardTo and in the mirror', () => {
    expect(violationsOf(routeWith('forwardTo: [{serviceName: foo-service-v1, port: 80, weight: 80}]'))).toEqual([
      'spec.rules[0].forwardTo[0].serviceName: was removed: write backendRef: {name: "foo-service-v1"} and port: 80',
    ]);
    const mirror = 'filters: [{type: RequestMirror, requestMirror: {serviceName: copy, port: 81}}]';
    expect(violationsOf(routeWith(`${mirror}\nbackendRefs: [{name: foo, port: 80}]`))).toEqual([
      'spec.rules[0].filters[0].requestMirror.serviceName: was removed: write backendRef: {name: "copy", port: 81}',
    ]);
  });

  it('has the default kind Service, also spelled service, and the default weight 1', () => {
    for (const ref of [
      '{name: foo}',
      '{name: foo, kind: service}',
      '{name: foo, kind: Service, group: ""}',
      '{name: foo, group: core}',
    ]) {
      const parsed = parseRoute(routeWith(`forwardTo: [{backendRef: ${ref}, port: 80}]`));
      const [backend] = 'route' in parsed ? (parsed.route.rules[0]?.backends ?? []) : [];
      expect(backend).toMatchObject({ group: '', kind: 'Service', name: 'foo', weight: 1 });
    }
  });

  it('requires a port for a Service only', () => {
    expect(violationsOf(routeWith('forwardTo: [{backendRef: {name: foo}}]'))).toEqual([
      'spec.rules[0].forwardTo[0].port: must be given when the backend is a Service: a port number from 1 to 65535',
    ]);
    expect(violationsOf(routeWith('forwardTo: [{backendRef: {name: foo, kind: server, group: networking.acme.io}}]'))).toEqual(
      [],
    );
  });
});
