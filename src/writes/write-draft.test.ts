// The checks of a draft that are the same for all types: its place, its name and its labels.
import { describe, expect, it } from 'vitest';
import type { ControlPlaneIdentity } from '../resource/compute-labels.ts';
import { resourceTypes, typeOf } from '../resource/type-registry.ts';
import type { JsonObject, Labels } from '../resource/types.ts';
import type { ApiError } from '../http/error-body.ts';
import { draftOf, labelField, type Draft } from './write-checks.ts';

const GLOBAL: ControlPlaneIdentity = { mode: 'global', zone: null, federated: false };
const ALONE: ControlPlaneIdentity = { mode: 'zone', zone: 'east', federated: false };
const FEDERATED: ControlPlaneIdentity = { mode: 'zone', zone: 'east', federated: true };
const to = [{ targetRef: { kind: 'Mesh' }, default: { connectionTimeout: '1s' } }];

type Given = {
  readonly type?: string;
  readonly name?: string;
  readonly mesh?: string;
  readonly spec?: JsonObject;
  readonly labels?: Labels;
  /** Fields of the body that differ from the URL. */
  readonly body?: JsonObject;
  readonly writer?: ControlPlaneIdentity;
  /** Whether unknown keys are refused. */
  readonly strict?: boolean;
};

function draft({ type = 'MeshTimeout', name = 'a', mesh = 'default', spec = { to }, labels = {}, ...more }: Given): Draft {
  const info = typeOf(type);
  const { writer = ALONE, body = {}, strict = true } = more;
  const document = { type, name, mesh, labels, ...(info.codec.kind === 'json' ? { spec } : spec), ...body };
  return draftOf(info, { mesh: info.scope === 'Mesh' ? mesh : '', name }, document, { writer, checksOrigin: true }, { strict });
}

/** Field and reason of each violation. */
function faults(given: Given): [string, string][] {
  try {
    draft(given);
    return [];
  } catch (error) {
    return (error as ApiError).violations.map(({ field, reason }) => [field, reason]);
  }
}

const fields = (given: Given): string[] => faults(given).map(([field]) => field);

describe('a list of revoked tokens', () => {
  it.each([
    ['GlobalSecret', 'zone-token-revocations', true],
    ['Secret', 'dataplane-token-revocations-default', true],
    ['GlobalSecret', 'user-token-revocations', false],
    ['Secret', 'dataplane-token-revocations-other', false],
  ])('of global is refused in a zone with a global: %s %s', (type, name, isOfGlobal) => {
    const given = { type, name, spec: { data: 'YQ==' } };
    const reason = 'this zone has the list of revoked tokens from its global: revoke the token there';
    expect(faults({ ...given, writer: FEDERATED })).toEqual(isOfGlobal ? [['name', reason]] : []);
    for (const writer of [GLOBAL, ALONE]) expect(faults({ ...given, writer })).toEqual([]);
  });
});

it.each(['Secret', 'GlobalSecret'])('a %s must give its data, which may be empty', (type) => {
  for (const spec of [{}, { data: null }])
    expect(faults({ type, spec })).toEqual([['data', 'must be given: the secret in base64']]);
  expect(faults({ type, spec: { data: '' } })).toEqual([]);
});

const written: Readonly<Record<string, JsonObject>> = {
  Dataplane: { networking: { address: '192.0.2.1', inbound: [{ port: 80 }] } },
  Secret: { data: 'YQ==' },
  GlobalSecret: { data: 'YQ==' },
};
const flat = resourceTypes.filter(({ codec, writers }) => codec.kind === 'proto' && writers !== 'none');

describe('a key that no document has', () => {
  it.each(flat.map(({ name }) => name))('in a %s is refused, or dropped with a warning', (type) => {
    const given = { type, spec: { ...written[type], colour: 'red' } };
    expect(faults(given)).toContainEqual(['colour', expect.stringMatching(/^is not a known key/) as string]);
    const { spec, warnings } = draft({ ...given, strict: false });
    expect(spec).not.toHaveProperty('colour');
    expect(warnings).toContainEqual(expect.stringMatching(/^colour: is not a known key.*no effect$/) as string);
  });

  it('inside of a Dataplane is named by its path, with the key that was meant', () => {
    const spec = { networking: { address: '192.0.2.1', inbound: [{ port: 80, servicePrt: 81 }] } };
    const reason = 'is not a known key of Dataplane; did you mean "servicePort"?';
    expect(faults({ type: 'Dataplane', spec })).toEqual([['networking.inbound[0].servicePrt', reason]]);
    const { warnings } = draft({ type: 'Dataplane', spec, strict: false });
    expect(warnings).toEqual([`networking.inbound[0].servicePrt: ${reason}; it has no effect`]);
  });

  it('beside a spec is refused, or dropped with a warning', () => {
    expect(faults({ body: { lables: {} } })).toEqual([['lables', 'is not a known key; did you mean "labels"?']]);
    expect(draft({ body: { lables: {} }, strict: false }).warnings).toEqual([
      'lables: is not a known key; did you mean "labels"?; it has no effect',
    ]);
  });
});

describe('a draft', () => {
  it('needs a JSON object', () => {
    const rules = { writer: ALONE, checksOrigin: true };
    for (const document of [null, [], 'a', 1])
      expect(() => draftOf(typeOf('Mesh'), { mesh: '', name: 'a' }, document, rules, { strict: true })).toThrow(
        'the body must be a JSON object',
      );
  });

  it.each<[JsonObject, string, string]>([
    [{ name: 'b' }, 'name', 'must be a, as in the URL'],
    [{ type: 'MeshRetry' }, 'type', 'must be MeshTimeout, as in the URL'],
    [{ mesh: 'other' }, 'mesh', 'must be default, as in the URL'],
  ])('has the type, name and mesh of its URL: %j', (body, field, reason) => {
    expect(faults({ body })).toContainEqual([field, reason]);
  });

  it('may name its mesh or not where its type has none', () => {
    expect(fields({ type: 'Mesh', spec: {}, body: { mesh: 'other' } })).toEqual([]);
  });

  it('has the stored name of its namespace, and may say either name', () => {
    const labels = { 'k8s.kuma.io/namespace': 'shop' };
    expect(draft({ labels }).key).toEqual({ type: 'MeshTimeout', mesh: 'default', name: 'a.shop' });
    expect(draft({ labels, body: { name: 'a.shop' } }).key.name).toBe('a.shop');
    expect(draft({ name: 'a.shop', labels }).key.name).toBe('a.shop');
    expect(draft({ name: 'a.b' }).key.name).toBe('a.b');
    expect(fields({ name: 'a.b', labels })).toEqual(['name']);
  });

  it.each([
    ['MeshTimeout', { to }, { type: 'Mesh', mesh: '', name: 'default' }],
    ['Mesh', {}, null],
    ['Secret', { data: 'YQ==' }, null],
    ['Dataplane', { networking: { address: '10.0.0.1', inbound: [{ port: 80, tags: { 'kuma.io/service': 'a' } }] } }, null],
  ])('of type %s goes with its Mesh or not', (type, spec, owner) => {
    expect(draft({ type, spec }).owner).toEqual(owner);
  });

  it('takes the protocol of its ports from an annotation in a MeshService alone', () => {
    const labels = { 'gateway.networking.k8s.io/app-protocol': 'http' };
    const spec = { ports: [{ port: 80 }] };
    expect(draft({ type: 'MeshService', labels, spec }).spec['ports']).toMatchObject([{ port: 80, appProtocol: 'http' }]);
    const selector = { meshService: { matchLabels: { a: 'b' } } };
    const multiZone = draft({ type: 'MeshMultiZoneService', labels, spec: { ...spec, selector }, writer: GLOBAL });
    expect(multiZone.spec['ports']).not.toMatchObject([{ appProtocol: 'http' }]);
  });
});

describe('the name of a draft', () => {
  it.each([
    ['a', true],
    ['a-1.b', true],
    ['A', false],
    ['a_b', false],
    ['-a', false],
    ['a-', false],
    ['a..b', false],
    [`${'a'.repeat(200)}.${'b'.repeat(52)}`, true],
    [`${'a'.repeat(200)}.${'b'.repeat(53)}`, false],
  ])('is a DNS name of at most 253 characters: %s', (name, isGood) => {
    expect(fields({ name })).toEqual(isGood ? [] : ['name']);
  });

  it('has room for the name of its zone where that sends it to a global', () => {
    // The names have `east.` before them.
    const [fits, tooLong] = [247, 248].map((length) => `${'a'.repeat(200)}.${'b'.repeat(length - 201)}`);
    const labels = { 'kuma.io/origin': 'zone' };
    expect(fields({ name: fits ?? '', labels, writer: FEDERATED })).toEqual([]);
    expect(faults({ name: tooLong ?? '', labels, writer: FEDERATED })).toEqual([
      ['name', 'must have less than 253 characters together with the name of the zone and a dot'],
    ]);
  });

  it.each([
    ['default', true],
    ['a_b.c-1', true],
    ['a'.repeat(253), true],
    ['a'.repeat(254), false],
    ['A', false],
  ])('is in a mesh with a possible name: %s', (mesh, isGood) => {
    expect(fields({ mesh })).toEqual(isGood ? [] : ['mesh']);
  });

  it('needs a mesh', () => {
    expect(faults({ body: { mesh: '' } })).toContainEqual(['mesh', 'must be given']);
  });
});

describe('the labels of a draft', () => {
  const LONG = 'a'.repeat(63);

  it.each<[string, string, boolean]>([
    ['team', 'a', true],
    ['example.com/team', 'A.b_c-1', true],
    ['team', '', true],
    ['team', LONG, true],
    ['team', `${LONG}a`, false],
    ['team', '-a', false],
    ['team', 'a b', false],
    ['-team', 'a', false],
    [`${LONG}a`, 'a', false],
    ['kuma.io/mesh', 'default', true],
    ['kuma.io/mesh', 'other', false],
    ['kuma.io/display-name', 'a', true],
    ['kuma.io/policy-role', 'system', true],
    ['kuma.io/policy-role', 'producer', false],
  ])('are Kubernetes labels that fit the resource: %s=%s', (key, value, isGood) => {
    expect(fields({ labels: { [key]: value } })).toEqual(isGood ? [] : [labelField(key)]);
  });

  it('have the policy role of the items, which do not mix roles', () => {
    const given = (...refs: JsonObject[]): Given => ({
      name: 'a.shop',
      spec: { to: refs.map((targetRef) => ({ targetRef, default: { connectionTimeout: '1s' } })) },
      labels: { 'kuma.io/policy-role': 'consumer', 'k8s.kuma.io/namespace': 'shop' },
    });
    const own = { kind: 'MeshService', name: 'a', namespace: 'shop' };
    expect(faults(given(own))).toContainEqual([labelField('kuma.io/policy-role'), 'must be producer']);
    expect(faults(given(own, { kind: 'Mesh' }))).toEqual([['spec.to', expect.stringContaining('mix')]]);
  });

  it('may name another mesh on global', () => {
    expect(fields({ labels: { 'kuma.io/mesh': 'other' }, writer: GLOBAL })).toEqual([]);
  });

  it('are named in a violation up to their largest length', () => {
    expect(labelField('a'.repeat(317))).toBe(`labels["${'a'.repeat(317)}"]`);
    expect(labelField('a'.repeat(318))).toBe(`labels["${'a'.repeat(317)}…"]`);
  });
});
