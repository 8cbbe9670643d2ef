// Each conversion, and the conditions under which the meaning would change.
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../resource/types.ts';
import { convertRow, type Converted, type Surroundings } from './convert-row.ts';

const NO_ONE: Surroundings = {
  hasOlderZones: true,
  hasBuiltinGateway: () => false,
  hasGatewayProxy: () => false,
  has: () => false,
};
const MESH = { kind: 'Mesh' };
const INBOUND = { targetRef: MESH, default: { idleTimeout: '5s' } };
const OUTBOUND = { targetRef: MESH, default: { idleTimeout: '6s' } };

function convert(type: string, spec: JsonObject, around: Partial<Surroundings> = {}): Converted {
  return convertRow(
    { type, mesh: type === 'Mesh' ? '' : 'shop', name: 'one', labels: { a: 'b' }, spec },
    { ...NO_ONE, ...around },
  );
}

function specsOf({ rows }: Converted): JsonObject[] {
  return rows.map(({ spec }) => spec);
}

describe('from', () => {
  it('becomes rules', () => {
    const { rows } = convert('MeshTimeout', { targetRef: MESH, from: [INBOUND] });
    expect(rows).toEqual([
      {
        type: 'MeshTimeout',
        mesh: 'shop',
        name: 'one',
        labels: { a: 'b' },
        spec: { targetRef: MESH, rules: [{ default: INBOUND.default }] },
      },
    ]);
  });

  it('becomes a policy of its own beside to', () => {
    const { rows } = convert('MeshTimeout', { targetRef: MESH, from: [INBOUND], to: [OUTBOUND] });
    expect(rows.map(({ name, labels, spec }) => ({ name, labels, spec }))).toEqual([
      { name: 'one', labels: { a: 'b' }, spec: { targetRef: MESH, to: [OUTBOUND] } },
      {
        name: 'one-inbound',
        labels: { a: 'b', 'kuma.io/display-name': 'one-inbound' },
        spec: { targetRef: MESH, rules: [{ default: INBOUND.default }] },
      },
    ]);
  });

  it.each([
    ['for some clients alone', 'MeshTimeout', { from: [{ ...INBOUND, targetRef: { kind: 'MeshSubset', tags: { a: 'b' } } }] }],
    ['with two items', 'MeshTimeout', { from: [INBOUND, INBOUND] }],
    ['beside rules', 'MeshTimeout', { from: [INBOUND], rules: [{ default: {} }] }],
    ['of a permission', 'MeshTrafficPermission', { from: [{ targetRef: MESH, default: { action: 'Allow' } }] }],
    ['with a conf that rules do not take', 'MeshTimeout', { from: [{ targetRef: MESH, default: { idleTimeout: 'soon' } }] }],
  ])('stays %s', (_, type, spec) => {
    expect(specsOf(convert(type, spec as unknown as JsonObject))).toEqual([spec]);
  });

  it('stays where the name of its policy is taken', () => {
    const spec = { from: [INBOUND], to: [OUTBOUND] };
    expect(specsOf(convert('MeshTimeout', spec, { has: ({ name }) => name === 'one-inbound' }))).toEqual([spec]);
  });
});

describe('proxyTypes', () => {
  const of = (...proxyTypes: string[]): JsonObject => ({ targetRef: { kind: 'Mesh', proxyTypes }, to: [OUTBOUND] });
  const plain = { targetRef: MESH, to: [OUTBOUND] };

  it.each([
    ['go where they name every kind', of('Sidecar', 'Gateway'), { hasBuiltinGateway: () => true }, [plain]],
    ['go where every proxy is a sidecar', of('Sidecar'), {}, [plain]],
    ['stay beside a built-in gateway', of('Sidecar'), { hasBuiltinGateway: () => true }, [of('Sidecar')]],
    ['stay beside a gateway of its own', of('Sidecar'), { hasGatewayProxy: () => true }, [of('Sidecar')]],
    ['leave no policy for gateways in a mesh without them', of('Gateway'), {}, []],
    ['stay for the gateways of a mesh', of('Gateway'), { hasBuiltinGateway: () => true }, [of('Gateway')]],
  ])('%s', (_, spec, around, expected) => {
    expect(specsOf(convert('MeshTimeout', spec, around))).toEqual(expected);
  });
});

describe('a certificate without a type', () => {
  const spec = { tls: { verification: { caCert: { secret: 'ca' } } } };

  it('stays while a zone of Kuma 2.x is there', () => {
    expect(specsOf(convert('MeshExternalService', spec))).toEqual([spec]);
  });

  it('gets its type for newer zones', () => {
    expect(specsOf(convert('MeshExternalService', spec, { hasOlderZones: false }))).toEqual([
      { tls: { verification: { caCert: { type: 'Secret', secretRef: { kind: 'Secret', name: 'ca' } } } } },
    ]);
  });
});

describe('a Mesh', () => {
  it('without passthrough gets a MeshPassthrough', () => {
    const { rows } = convert('Mesh', { networking: { outbound: { passthrough: false } } });
    expect(rows).toMatchObject([
      { type: 'Mesh', spec: {} },
      { type: 'MeshPassthrough', mesh: 'one', name: 'mesh-passthrough-one', spec: { default: { passthroughMode: 'None' } } },
    ]);
  });

  it.each([
    ['the default of passthrough goes', { networking: { outbound: { passthrough: true } } }, {}],
    ['authorities of which none is enabled go', { mtls: { backends: [{ name: 'ca-1', type: 'builtin' }] } }, {}],
    ['an enabled authority stays', { mtls: { enabledBackend: 'ca-1' } }, { mtls: { enabledBackend: 'ca-1' } }],
  ])('%s', (_, spec, expected) => {
    expect(specsOf(convert('Mesh', spec))).toEqual([expected]);
  });

  it('keeps passthrough where the name of the policy is taken', () => {
    const spec = { networking: { outbound: { passthrough: false } } };
    expect(specsOf(convert('Mesh', spec, { has: () => true }))).toEqual([spec]);
  });
});

it('leaves a type that Meridian does not have', () => {
  expect(specsOf(convert('TrafficRoute', { from: [INBOUND] }))).toEqual([{ from: [INBOUND] }]);
});
