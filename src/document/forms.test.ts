// A printed document is the same resource when it is applied. A resource that a form cannot express is refused with the reason.
import { describe, expect, it } from 'vitest';
import { makeRow } from '../../test/support/make-row.ts';
import { fc } from '../../test/support/property.ts';
import { GATEWAY_TYPES } from '../gateway-api/stored-document.ts';
import { COMPUTED_LABELS as OF_ROUTES } from '../gateway-api/to-mesh-routes.ts';
import { label } from '../resource/labels.ts';
import { SYSTEM_NAMESPACE } from '../resource/policy-role.ts';
import { specJsonSchema } from '../validation/spec-json-schema.ts';
import { isClusterWide, storedNameOf as storedName } from '../resource/stored-name.ts';
import { resourceTypes, typeOf } from '../resource/type-registry.ts';
import type { Json, JsonObject, Labels, Resource } from '../resource/types.ts';
import { toGatewayForm } from './gateway-form.ts';
import { fromKubernetes, isForeign, toKubernetes, toSystemNamespace } from './kubernetes-form.ts';
import { readDocument, storedNameOf } from './read-document.ts';
import {
  applyable,
  COMPUTED_LABELS,
  editable,
  fromUniversal,
  READ_ONLY_KEYS,
  readUniversal,
  toUniversal,
} from './universal-form.ts';
import { universalSchema } from './universal-schema.ts';

const TYPES = resourceTypes.filter(({ path }) => path !== '');
const AROUND_A_SPEC = new Set(['type', 'mesh', 'name', 'labels', 'spec', ...READ_ONLY_KEYS]);
const name = fc.constantFrom('a', 'b', 'a.b', 'a.b.shop', 'shop', 'a.kuma-system', 'x-1');
const namespace = fc.constantFrom('', 'shop', 'b', 'a', SYSTEM_NAMESPACE);
const otherLabels = fc.dictionary(
  fc.constantFrom('team', 'kuma.io/origin', 'kuma.io/env', 'kuma.io/effect'),
  fc.constantFrom('zone', 'x', ''),
);
const spec = fc.dictionary(
  fc.string().filter((key) => !AROUND_A_SPEC.has(key) && key !== '__proto__'),
  fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value)) as Json),
  { maxKeys: 4 },
);

/** A resource as a write stores it: with the display name and the stored name that name and namespace give. */
const resource = fc
  .record({ info: fc.constantFrom(...TYPES), name, namespace, otherLabels, spec, mesh: fc.constantFrom('default', 'shop') })
  .map(({ info, name: displayName, namespace: given, otherLabels: others, spec: any, mesh }): Resource => {
    const own = isClusterWide(info) ? '' : given;
    const labels: Labels = { ...others, [label.displayName]: displayName, ...(given !== '' && { [label.namespace]: given }) };
    return makeRow(info.name, storedName({ displayName, namespace: own }), {
      mesh: info.scope === 'Mesh' ? mesh : '',
      labels,
      spec: info.adminOnly ? { data: 'dGVzdA==' } : any,
    });
  });

type Content = Pick<Resource, 'type' | 'mesh' | 'name' | 'labels' | 'spec'>;

/** The resource that a control plane reads from the text of a printed document. */
function read(printed: JsonObject): Content {
  const document = readDocument(JSON.parse(JSON.stringify(printed)));
  if ('violation' in document) throw new Error(JSON.stringify(document.violation));
  const parts = readUniversal(document.info, document.body);
  if ('violations' in parts) throw new Error(JSON.stringify(parts.violations));
  const { labels, spec: own } = parts;
  return { type: document.info.name, mesh: document.mesh, name: storedNameOf(document), labels, spec: own };
}

/** @param without the labels that the form leaves out, as every write computes them again */
function contentOf({ type, mesh, name: stored, labels, spec: own }: Content, without: ReadonlySet<string> = new Set()): Content {
  const kept = Object.fromEntries(Object.entries(labels).filter(([key]) => !without.has(key)));
  return { type, mesh, name: stored, labels: kept, spec: own };
}

/** Form → its printer, the types that it has, and the labels that it leaves out of a type. */
const FORMS: Record<string, [(row: Resource) => JsonObject, (type: string) => boolean, (type: string) => ReadonlySet<string>]> = {
  Universal: [(row) => toUniversal(typeOf(row.type), row), () => true, () => new Set()],
  'Universal to edit': [(row) => editable(toUniversal(typeOf(row.type), row)), () => true, () => new Set()],
  Kubernetes: [(row) => toKubernetes(typeOf(row.type), row), () => true, computedIn],
  'Kubernetes, in the system namespace': [(row) => toSystemNamespace(typeOf(row.type), row), () => true, computedIn],
  'Gateway API': [
    (row) => {
      const form = toGatewayForm(row, { services: [], timeouts: [] });
      if ('violations' in form) throw new Error(JSON.stringify(form.violations));
      return form.document;
    },
    (type) => GATEWAY_TYPES.has(type),
    () => OF_ROUTES,
  ],
};

function computedIn(type: string): ReadonlySet<string> {
  return GATEWAY_TYPES.has(type) ? OF_ROUTES : COMPUTED_LABELS;
}

describe('a resource that is printed', () => {
  it.each(Object.entries(FORMS))('in form %s is applied as the same resource', (_, [print, has, leftOut]) => {
    fc.assert(
      fc.property(
        resource.filter(({ type }) => has(type)),
        (row) => {
          const without = leftOut(row.type);
          expect(contentOf(read(print(row)), without)).toEqual(contentOf(row, without));
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it('in the portable form has no computed fields and the same content', () => {
    fc.assert(
      fc.property(resource, (row) => {
        const info = typeOf(row.type);
        const document = applyable(info, toUniversal(info, row));
        expect(Object.keys(document).filter((key) => READ_ONLY_KEYS.has(key))).toEqual([]);
        const computed = new Set([label.displayName, label.origin, label.env]);
        const { labels, ...rest } = contentOf(read(document));
        expect(labels).toEqual(contentOf(row, computed).labels);
        expect(rest).toMatchObject({ type: row.type, mesh: row.mesh, name: row.name });
      }),
    );
  });

  it('is parsed by the command line to the resource of the control plane', () => {
    fc.assert(
      fc.property(resource, (row) => {
        const info = typeOf(row.type);
        expect(toKubernetes(info, fromUniversal(info, toUniversal(info, row)))).toEqual(toKubernetes(info, row));
      }),
    );
  });

  it('in Universal form has no spec field with the name of a key beside the spec', () => {
    for (const info of TYPES.filter(({ codec }) => codec.kind === 'proto')) {
      const fields = Object.keys((specJsonSchema(info.name)?.['properties'] ?? {}) as JsonObject);
      expect(fields.length, info.name).toBeGreaterThan(0);
      expect(fields.filter((field) => AROUND_A_SPEC.has(field))).toEqual([]);
    }
  });

  it('has only keys of its schema', () => {
    fc.assert(
      fc.property(resource, (row) => {
        const info = typeOf(row.type);
        const { properties } = universalSchema(info) as { properties: JsonObject };
        const around = Object.keys(toUniversal(info, row)).filter((key) => AROUND_A_SPEC.has(key));
        expect(Object.keys(properties)).toEqual(expect.arrayContaining(around));
      }),
    );
  });

  it('without a Gateway API form is refused with the reason', () => {
    const row = makeRow('MeshTimeout', 'slow', {});
    expect(toGatewayForm(row, { services: [], timeouts: [] })).toMatchObject({
      violations: [{ field: 'type', reason: expect.stringContaining('MeshTimeout') as string }],
    });
  });
});

describe('a resource in Kubernetes form', () => {
  it('names the system namespace when the resource has none', () => {
    const row = makeRow('MeshTimeout', 'slow', { labels: { [label.displayName]: 'slow' } });
    expect(toKubernetes(typeOf('MeshTimeout'), row)).toMatchObject({ metadata: { name: 'slow', namespace: SYSTEM_NAMESPACE } });
  });

  it('has no label that an API server or its zone refuses', () => {
    const labels = {
      [label.displayName]: 'x'.repeat(200),
      [label.origin]: 'global',
      [label.policyRole]: 'system',
      [label.mesh]: 'shop',
      team: 'a',
    };
    const row = makeRow('MeshTimeout', 'slow', { mesh: 'shop', labels });
    expect(toKubernetes(typeOf('MeshTimeout'), row)).toMatchObject({ metadata: { labels: { [label.mesh]: 'shop', team: 'a' } } });
  });

  it.each([
    [{}, 'zone'],
    [{ [label.namespace]: SYSTEM_NAMESPACE }, 'zone'],
    [{ [label.namespace]: 'shop' }, undefined],
  ])('of a zone with labels %j has the origin %j, which its system namespace demands', (labels, expected) => {
    const row = makeRow('MeshTimeout', 'slow', { labels: { ...labels, [label.origin]: 'zone' } });
    const { metadata } = toKubernetes(typeOf('MeshTimeout'), row);
    expect((metadata as { labels: Labels }).labels[label.origin]).toBe(expected);
  });

  it.each<[JsonObject, boolean]>([
    [{ apiVersion: 'v1', kind: 'ConfigMap' }, true],
    [{ apiVersion: 'v1', kind: 'Secret', type: 'Opaque' }, true],
    [{ apiVersion: 'v1', kind: 'Secret' }, true],
    [{ apiVersion: 'apps/v1', kind: 'Deployment' }, true],
    [{ apiVersion: 'gateway.networking.k8s.io/v1', kind: 'GatewayClass' }, true],
    [{ apiVersion: 'kuma.io/v1alpha1', kind: 'ContainerPatch' }, true],
    [{ apiVersion: 'v1', kind: 'Secret', type: 'system.kuma.io/secrets' }, false],
    [{ apiVersion: 'kuma.io/v1alpha1', kind: 'TrafficPermission' }, false],
    [{ apiVersion: 'kuma/v1alpha1', kind: 'MeshTimeout' }, false],
    [{ apiVersion: 'gateway.networking.k8s.io/v1', kind: 'HTTPRoute' }, false],
    [{ type: 'MeshTimeout', kind: 'Mesh' }, false],
    [{ apiVersion: 1, kind: 'ConfigMap' }, false],
  ])('is foreign, or is not: %j', (document, expected) => {
    expect(isForeign(document)).toBe(expected);
  });

  it('may not have two namespaces', () => {
    const metadata = { name: 'slow', namespace: 'a', labels: { [label.namespace]: 'b' } };
    const read = fromKubernetes({ apiVersion: 'kuma.io/v1alpha1', kind: 'MeshTimeout', metadata, spec: {} });
    expect(read).toEqual({
      violation: { field: 'metadata.namespace', reason: 'must be "b", as in the label k8s.kuma.io/namespace' },
    });
  });

  it.each<[string, JsonObject]>([
    ['apiVersion', { apiVersion: 'v9', kind: 'Mesh', metadata: { name: 'm' } }],
    ['type', { apiVersion: 'v1', kind: 'Secret', type: 'Opaque', metadata: { name: 's' } }],
    ['metadata', { apiVersion: 'kuma.io/v1alpha1', kind: 'Mesh', metadata: 'm' }],
    ['metadata.labels', { apiVersion: 'kuma.io/v1alpha1', kind: 'Mesh', metadata: { name: 'm', labels: ['a'] } }],
  ])('is refused with its field %s', (field, document) => {
    expect(fromKubernetes(document)).toMatchObject({ violation: { field } });
  });

  it.each(['name', 'mesh', 'type', 'labels', 'spec', 'status', 'kri'])(
    'may not have %s in the spec of a protobuf type, where it would replace that of the metadata',
    (key) => {
      const document = {
        ...{ apiVersion: 'kuma.io/v1alpha1', kind: 'Dataplane', metadata: { name: 'a', namespace: 'shop' } },
        spec: { networking: { address: '192.0.2.1' }, [key]: 'b' },
      };
      expect(fromKubernetes(document)).toMatchObject({ violation: { field: `spec.${key}` } });
    },
  );

  it.each([['Mesh'], ['MeshTimeout'], ['MeshService']])('of kind %s may not have a spec that is no object', (kind) => {
    const annotations = { 'gateway.networking.k8s.io/app-protocol': 'http' };
    const document = (given: Json): JsonObject => ({
      ...{ apiVersion: 'kuma.io/v1alpha1', kind, metadata: { name: 'a', annotations }, spec: given },
    });
    for (const given of [[{}], 'oops', 5, false])
      expect(fromKubernetes(document(given))).toEqual({ violation: { field: 'spec', reason: 'must be an object' } });
    // Null means absent.
    expect(read(document(null)).spec).toEqual({});
  });

  it.each([
    [{ [label.mesh]: 'two' }, { violation: { field: 'mesh', reason: 'must be "two", as in the label kuma.io/mesh' } }],
    [{ [label.mesh]: 'one' }, { body: { mesh: 'one' } }],
    [{}, { body: { mesh: 'one' } }],
  ])('may not have two meshes: mesh one with labels %j', (labels, expected) => {
    const document = {
      apiVersion: 'kuma.io/v1alpha1',
      kind: 'Dataplane',
      mesh: 'one',
      metadata: { name: 'a', labels },
      spec: {},
    };
    expect(fromKubernetes(document)).toMatchObject(expected);
  });

  it('may not have a namespace that is no string', () => {
    const metadata = { name: 'a', namespace: ['shop'] };
    expect(fromKubernetes({ apiVersion: 'kuma.io/v1alpha1', kind: 'MeshTimeout', metadata, spec: {} })).toEqual({
      violation: { field: 'metadata.namespace', reason: 'must be a string' },
    });
  });
});

describe('a Kubernetes object with an unknown key at the top', () => {
  it.each<[string, JsonObject]>([
    ['specs', { apiVersion: 'kuma.io/v1alpha1', kind: 'Mesh', specs: { mtls: {} } }],
    ['data', { apiVersion: 'kuma.io/v1alpha1', kind: 'MeshTimeout', data: {} }],
    ['mtls', { apiVersion: 'kuma.io/v1alpha1', kind: 'Mesh', mtls: {} }],
    ['value', { apiVersion: 'v1', kind: 'Secret', type: 'system.kuma.io/secret', value: 'YQ==' }],
  ])('is refused with the field %s, and not stored without it', (field, document) => {
    const reason = expect.stringContaining('is not known here') as string;
    expect(fromKubernetes({ ...document, metadata: { name: 'a' } })).toEqual({ violation: { field, reason } });
  });
});

describe('metadata of a Kubernetes object', () => {
  it('is refused with an unknown key, which a write would drop', () => {
    const document = { apiVersion: 'kuma.io/v1alpha1', kind: 'MeshTimeout', spec: {} };
    expect(fromKubernetes({ ...document, metadata: { name: 'a', lables: { team: 'a' } } })).toEqual({
      violation: { field: 'metadata.lables', reason: 'is not a known key; did you mean "labels"?' },
    });
    expect(fromKubernetes({ ...document, metadata: { name: 'a', 'name space': 'a' } })).toMatchObject({
      violation: { field: 'metadata["name space"]' },
    });
  });

  it('may have every key that the API server of Kubernetes writes', () => {
    const written = { uid: 'u', resourceVersion: '1', generation: 1, creationTimestamp: null, managedFields: [], finalizers: [] };
    const metadata = { name: 'a', namespace: 'shop', annotations: {}, ownerReferences: [], ...written };
    expect(fromKubernetes({ apiVersion: 'kuma.io/v1alpha1', kind: 'MeshTimeout', metadata, spec: {} })).toMatchObject({
      body: { name: 'a' },
    });
  });
});

describe('a Kubernetes Secret', () => {
  const secret = (rest: JsonObject): JsonObject => {
    const metadata = { name: 's', labels: { [label.mesh]: 'shop' } };
    return { apiVersion: 'v1', kind: 'Secret', type: 'system.kuma.io/secret', metadata, ...rest };
  };

  it.each<[JsonObject, string]>([
    [{ data: { value: 'YQ==' } }, 'YQ=='],
    [{ data: { value: '' } }, ''],
    [{ stringData: { value: 'grüße' } }, 'Z3LDvMOfZQ=='],
    [{ data: { value: 'YQ==' }, stringData: { value: 'b' } }, 'Yg=='],
    [{ data: { value: 'YQ==' }, stringData: { value: null } }, 'YQ=='],
  ])('with %j has the value %s', (rest, data) => {
    expect(read(secret(rest)).spec).toEqual({ data });
  });

  it.each<[string, JsonObject]>([
    ['data.value', {}],
    ['data.value', { data: null }],
    ['data.value', { data: { 'tls.crt': 'YQ==' } }],
    ['data.value', { stringData: { password: 'a' } }],
    ['data.value', { data: { value: null } }],
    ['data.value', { data: { value: 5 } }],
    ['data', { data: 'YQ==' }],
    ['stringData', { stringData: ['a'] }],
    ['stringData.value', { stringData: { value: 5 } }],
  ])('without a value is refused with its field %s, and not stored empty: %j', (field, rest) => {
    expect(fromKubernetes(secret(rest))).toMatchObject({ violation: { field } });
  });
});

describe('a resource in Universal form', () => {
  it.each(['oops', ['a'], 5, false])('may not have the spec %j, which is no object', (given) => {
    for (const type of ['Mesh', 'MeshTimeout'])
      expect(readUniversal(typeOf(type), { type, name: 'a', spec: given })).toEqual({
        violations: [{ field: 'spec', reason: 'must be an object' }],
      });
  });
});

describe('a MeshService in Kubernetes form', () => {
  const annotated = (protocol: string): JsonObject => ({
    ...{ apiVersion: 'kuma.io/v1alpha1', kind: 'MeshService' },
    metadata: { name: 'cart', namespace: 'shop', annotations: { 'gateway.networking.k8s.io/app-protocol': protocol } },
    spec: { ports: [{ port: 80 }, { port: 81, appProtocol: 'tcp' }] },
  });

  it('has the protocol of its annotation on the ports without one', () => {
    const { spec: own } = read(annotated('kubernetes.io/h2c'));
    expect(own['ports']).toEqual([
      { port: 80, appProtocol: 'http2' },
      { port: 81, appProtocol: 'tcp' },
    ]);
  });

  it('is refused with an annotation that names another protocol', () => {
    expect(fromKubernetes(annotated('smtp'))).toMatchObject({
      violation: { field: 'metadata.annotations["gateway.networking.k8s.io/app-protocol"]' },
    });
  });
});
