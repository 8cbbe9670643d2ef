// The checks of a write: each type by its own reader or schema, and the write that needs no stored row.
import { describe, expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import type { ApiError } from '../http/error-body.ts';
import { typeOf, resourceTypes } from '../resource/type-registry.ts';
import type { ControlPlaneIdentity } from '../resource/compute-labels.ts';
import type { JsonObject } from '../resource/types.ts';
import { validateResource } from '../resource/validate-spec.ts';
import { draftOf, unreadWrite, type Draft } from './write-checks.ts';

const rules = { writer: { mode: 'zone', zone: 'east', federated: false }, checksOrigin: true } as const;

function draft(type: string, spec: JsonObject, { strict = true, name = 'a' } = {}): Draft {
  const info = typeOf(type);
  const body = { type, name, mesh: 'default', ...(info.codec.kind === 'json' ? { spec } : spec) };
  return draftOf(info, { mesh: info.scope === 'Mesh' ? 'default' : '', name }, body, rules, { strict });
}

function fieldsOf(type: string, spec: JsonObject, strict = true): string[] {
  try {
    draft(type, spec, { strict });
    return [];
  } catch (error) {
    return (error as ApiError).violations.map(({ field }) => field);
  }
}

describe('draftOf', () => {
  it.each(['HTTPRoute', 'TCPRoute'])('checks %s with the Gateway API reader, on PUT as strictly as on apply', (type) => {
    const spec = {
      parentRefs: [{ kind: 'Service', name: 'cart' }],
      rules: [{ backendRefs: [{ name: 'cart' }], retries: 3 }],
    };
    for (const strict of [true, false])
      expect(fieldsOf(type, spec, strict).toSorted()).toEqual(['spec.rules[0].backendRefs[0].port', 'spec.rules[0].retries']);
  });

  it('checks other types with their schemas', () => {
    const to = [{ targetRef: { kind: 'Mesh' }, default: { http: { requestTimeout: 'soon' } } }];
    expect(fieldsOf('MeshTimeout', { to })).toEqual(['spec.to[0].default.http.requestTimeout']);
    expect(fieldsOf('Mesh', {})).toEqual([]);
  });

  it('reads over a section that a type does not have, as a control plane does from a peer', () => {
    const spec = { targetRef: { kind: 'Mesh' }, to: [], from: 1 };
    expect(validateResource(typeOf('MeshRetry'), { name: 'a', mesh: 'default', labels: {}, spec })).toEqual([]);
    expect(
      fieldsOf('MeshRetry', { ...spec, to: [{ targetRef: { kind: 'Mesh' }, default: { tcp: { maxConnectAttempt: 1 } } }] }),
    ).toEqual([]);
  });

  it('refuses every policy that a control plane refuses from a peer', () => {
    const ref = fc.oneof(
      { weight: 2, arbitrary: fc.constantFrom<object>({ kind: 'Mesh' }, { kind: '' }, { kind: 1 }, {}) },
      fc.constantFrom(null, 1, 'x', []),
    );
    const items = fc.oneof(
      {
        weight: 3,
        arbitrary: fc.array(fc.oneof(fc.record({ targetRef: ref }, { requiredKeys: [] }), fc.constantFrom(null, 1)), {
          maxLength: 2,
        }),
      },
      fc.constantFrom(null, 1, {}),
    );
    const spec = fc.record({ targetRef: ref, to: items, from: items, rules: items }, { requiredKeys: [] });
    const policies = resourceTypes.filter(({ policy }) => policy !== null);
    fc.assert(
      fc.property(fc.constantFrom(...policies), spec, (info, given) => {
        const resource = { name: 'a', mesh: 'default', labels: {}, spec: given as JsonObject };
        if (validateResource(info, resource).length > 0) expect(fieldsOf(info.name, resource.spec)).not.toEqual([]);
      }),
    );
  });
});

describe('the place of a resource', () => {
  type Write = { type?: string; name?: string; mesh?: string; labels?: JsonObject; body?: JsonObject; writer?: Partial<ControlPlaneIdentity> }; // oxfmt-ignore
  const to = [{ targetRef: { kind: 'Mesh' }, default: { connectionTimeout: '1s' } }];
  const faults = ({ type = 'MeshTimeout', name = 'a', mesh = 'shop', labels = {}, body = {}, writer = {} }: Write): unknown[] => {
    const document = { type, name, mesh, labels, spec: type === 'MeshTimeout' ? { to } : { ports: [{ port: 80 }] }, ...body };
    try {
      draftOf(typeOf(type), { mesh, name }, document, { ...rules, writer: { ...rules.writer, ...writer } }, { strict: true });
      return [];
    } catch (error) {
      return (error as ApiError).violations.map(({ field, reason }) => [field, reason]);
    }
  };
  const namespace = { 'k8s.kuma.io/namespace': 'ns' };
  const subdomain =
    'must be an RFC 1123 subdomain: lower-case letters, digits, "-" and ".", starting and ending with a letter or digit';
  const meshReason = 'must be at most 253 of lower-case letters, digits, "-", "_" and "."';
  const keyReason = 'must be a qualified name: an optional DNS prefix and "/", then at most 63 letters, digits, "-", "_", "."';
  const valueReason =
    'must be a label value: at most 63 letters, digits, "-", "_", ".", starting and ending with a letter or digit';
  const long = (length: number): string => 'x'.repeat(length);

  it.each<[string, Write, [field: string, reason: string][]]>([
    ['equal to the URL', {}, []],
    ['of another type', { body: { type: 'Mesh' } }, [['type', 'must be MeshTimeout, as in the URL']]],
    ['of another name', { body: { name: 'b' } }, [['name', 'must be a, as in the URL']]],
    ['of its stored name', { labels: namespace, body: { name: 'a.ns' } }, []],
    ['of another mesh', { body: { mesh: 'pay' } }, [['mesh', 'must be shop, as in the URL']]],
    ['with an empty mesh', { body: { mesh: '' } }, [['mesh', 'must be shop, as in the URL'], ['mesh', 'must be given']]], // oxfmt-ignore
    ['of an invalid mesh', { mesh: 'Shop' }, [['mesh', meshReason]]],
    ['of a mesh that is no text', { body: { mesh: 3 } }, [['mesh', 'must be shop, as in the URL'], ['mesh', meshReason]]], // oxfmt-ignore
    ['with the longest name', { name: long(253), type: 'MeshTimeout' }, []],
    ['with a longer name', { name: long(254) }, [['name', 'must have at most 253 characters']]],
    ['with upper case', { name: 'A' }, [['name', subdomain]]],
    ['with the longest name in a zone with a global', { name: long(247), writer: { federated: true }, labels: { 'kuma.io/origin': 'zone' } }, []], // oxfmt-ignore
    ['with a longer name in a zone with a global', { name: long(248), writer: { federated: true }, labels: { 'kuma.io/origin': 'zone' } }, [['name', 'must have less than 253 characters together with the name of the zone and a dot']]], // oxfmt-ignore
    ['with a dot where copies are cut', { name: `${long(235)}.x` }, [['name', 'must not have a dot as character 236: copies in other control planes have a name that is cut after it, which is no valid name']]], // oxfmt-ignore
    ['with a dot before', { name: `${long(234)}.xx` }, []],
    ['with a dot at the end of a name that is not cut', { name: `${long(234)}.x` }, []],
    ['with a name that is stored under another', { name: 'a.b', labels: namespace }, [['name', 'must be "a.b.ns", the stored name of "a.b" in namespace "ns" (label k8s.kuma.io/namespace), as it contains a dot']]], // oxfmt-ignore
    ['with good labels', { labels: { 'a.b/c': 'd', 'kuma.io/display-name': '-any-', 'kuma.io/mesh': 'shop' } }, []],
    ['with a bad key', { labels: { '-a': 'd' } }, [['labels["-a"]', keyReason]]],
    ['with a bad value', { labels: { a: '-d' } }, [['labels["a"]', valueReason]]],
    ['of a Mesh that does not say what proxies reach', { type: 'Mesh', name: 'shop', mesh: '', labels: { 'reachable.meridian.io/east': 'some' }, }, [['labels["reachable.meridian.io/east"]', 'must be all or none']]], // oxfmt-ignore
    ['with a long key', { labels: { [long(318)]: 'd' } }, [[`labels["${long(317)}…"]`, keyReason]]],
    ['with the label of another mesh', { labels: { 'kuma.io/mesh': 'pay' } }, [['labels["kuma.io/mesh"]', 'must be shop, the mesh of the resource']]], // oxfmt-ignore
    ['with the label of another mesh, of global', { labels: { 'kuma.io/mesh': 'pay', 'kuma.io/origin': 'global' } }, [['labels["kuma.io/mesh"]', 'must be shop, the mesh of the resource']]], // oxfmt-ignore
    ['of another zone, of global', { type: 'Dataplane', body: { networking: { address: '10.0.0.1', inbound: [{ port: 80 }] } }, labels: { 'kuma.io/zone': 'west', 'kuma.io/origin': 'global' } }, [['labels["kuma.io/zone"]', 'must be east, the name of this zone']]], // oxfmt-ignore
    ['with the label of another mesh, on global', { labels: { 'kuma.io/mesh': 'pay' }, writer: { mode: 'global', zone: null } }, []], // oxfmt-ignore
    ['with another role', { labels: { ...namespace, 'kuma.io/policy-role': 'producer' } }, [['labels["kuma.io/policy-role"]', 'must be consumer']]], // oxfmt-ignore
    ['with its role', { labels: { ...namespace, 'kuma.io/policy-role': 'consumer' } }, []],
    ['with the role system', { labels: { ...namespace, 'kuma.io/policy-role': 'system' } }, []],
    ['with a role and no policy', { type: 'MeshService', labels: { 'kuma.io/policy-role': 'producer' } }, []],
  ])('%s is accepted, or refused with its reasons', (_, write, expected) => {
    expect(faults(write)).toEqual(expected);
  });

  it('is no place of a document that is no object', () => {
    expect(() => draftOf(typeOf('MeshTimeout'), { mesh: 'shop', name: 'a' }, [], rules, { strict: true })).toThrow(
      'the body must be a JSON object',
    );
  });
});

describe('unreadWrite', () => {
  it.each<[string, JsonObject, string | undefined]>([
    ['MeshTimeout', { to: [{ targetRef: { kind: 'Mesh' }, default: { connectionTimeout: '1s' } }] }, 'put'],
    ['MeshService', { selector: { dataplaneTags: { a: 'b' } }, ports: [{ port: 80 }] }, 'create'],
    ['Mesh', {}, undefined],
    ['Secret', { data: 'YQ==' }, undefined],
    ['Dataplane', { networking: { address: '10.0.0.1', inbound: [{ port: 80 }] } }, undefined],
  ])('plans a write of a %s without a read when the stored row does not matter', (type, spec, op) => {
    expect(unreadWrite(draft(type, spec))?.op).toBe(op);
  });

  it('plans no write for an invalid name, because the title of the error depends on the stored row', () => {
    const service = draft('MeshService', { ports: [{ port: 80 }] }, { name: '1a' });
    expect(service.nameFaults.map(({ field }) => field)).toEqual(['name']);
    expect(unreadWrite(service)).toBe(null);
  });
});
