// A document printed in Kubernetes, Universal or Gateway API form is the same resource when it is applied.
import { describe, expect, it } from 'vitest';
import { makeRow } from '../../test/support/make-row.ts';
import { fc } from '../../test/support/property.ts';
import { GATEWAY_TYPES } from '../gateway-api/stored-document.ts';
import { COMPUTED_LABELS } from '../gateway-api/to-mesh-routes.ts';
import { label } from '../resource/labels.ts';
import { SYSTEM_NAMESPACE } from '../resource/policy-role.ts';
import { isObject } from '../resource/read-json.ts';
import { isClusterWide, namesOf, storedNameOf } from '../resource/stored-name.ts';
import { resourceTypes, typeOf } from '../resource/type-registry.ts';
import type { JsonObject, Labels, Resource } from '../resource/types.ts';
import { fromKubernetes, toKubernetes } from './kubernetes-form.ts';

const WRITABLE = resourceTypes.filter(({ path, writers }) => path !== '' && writers !== 'none');
const name = fc.constantFrom('a', 'b', 'a.b', 'a.b.shop', 'shop', 'a.kuma-system', 'x-1');
const namespace = fc.constantFrom('', 'shop', 'b', 'a', SYSTEM_NAMESPACE);
const otherLabels = fc.dictionary(
  fc.constantFrom('team', 'kuma.io/origin', 'kuma.io/env', 'kuma.io/effect'),
  fc.constantFrom('zone', 'x', ''),
);

/** A resource as a write stores it: with the display name and the stored name that name and namespace give. */
const resource = fc
  .record({ info: fc.constantFrom(...WRITABLE), name, namespace, otherLabels, mesh: fc.constantFrom('default', 'shop') })
  .map(({ info, name: displayName, namespace: given, otherLabels: others, mesh }): Resource => {
    const own = isClusterWide(info) ? '' : given;
    const labels: Labels = { ...others, [label.displayName]: displayName, ...(given !== '' && { [label.namespace]: given }) };
    const spec: JsonObject = info.adminOnly
      ? { data: 'dGVzdA==' }
      : info.codec.kind === 'proto'
        ? {}
        : { n: 1, to: [{ x: '1' }] };
    return makeRow(info.name, storedNameOf({ displayName, namespace: own }), {
      mesh: info.scope === 'Mesh' ? mesh : '',
      labels,
      spec,
    });
  });

type Written = { readonly labels: Labels; readonly [key: string]: unknown };

/** Key, labels and spec of a document in Universal form, as a write reads it. */
function written(body: JsonObject): Written {
  const info = typeOf(String(body['type']));
  const { type, name: given, mesh = '', labels, spec, ...flat } = body;
  const own = (isObject(labels) ? labels : {}) as Record<string, string>;
  const { storedName, displayName } = namesOf(String(given), isClusterWide(info) ? '' : (own[label.namespace] ?? ''));
  return {
    ...{ type, mesh, name: storedName, displayName },
    labels: own,
    spec: info.codec.kind === 'proto' ? flat : spec,
  };
}

/** Gateway API's form leaves out labels that every write computes again. */
function comparable(one: { readonly labels: Labels }, type: string): object {
  if (!GATEWAY_TYPES.has(type)) return one;
  const labels = Object.fromEntries(Object.entries(one.labels).filter(([key]) => !COMPUTED_LABELS.has(key)));
  return { ...one, labels };
}

function expected({ type, mesh, name: stored, labels, spec }: Resource): Written {
  return { type, mesh, name: stored, displayName: labels[label.displayName], labels, spec };
}

describe('a resource in Kubernetes form', () => {
  it('is the same resource when it is applied, for every type, name and namespace', () => {
    fc.assert(
      fc.property(resource, (row) => {
        const read = fromKubernetes(toKubernetes(typeOf(row.type), row));
        if (!('body' in read)) throw new Error(JSON.stringify(read));
        expect(comparable(written(read.body), row.type)).toEqual(comparable(expected(row), row.type));
      }),
      { numRuns: 2_000 },
    );
  });

  it('names the system namespace where the resource has none', () => {
    const row = makeRow('MeshTimeout', 'slow', { labels: { [label.displayName]: 'slow' } });
    expect(toKubernetes(typeOf('MeshTimeout'), row)).toMatchObject({ metadata: { name: 'slow', namespace: SYSTEM_NAMESPACE } });
  });

  it('may not say two namespaces', () => {
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
  ])('is refused by its field %s', (field, document) => {
    expect(fromKubernetes(document)).toMatchObject({ violation: { field } });
  });
});
