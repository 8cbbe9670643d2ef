// The readable resources of a response go to the store. Each other one becomes a refusal that names it, and no row is lost.
import { describe, expect, it } from 'vitest';
import { encodeKumaResource, type WireResource } from '../../resource/codec.ts';
import { typeOf } from '../../resource/type-registry.ts';
import { validateResource } from '../../resource/validate-spec.ts';
import { encodeResourceEntry, decodeDeltaResponse, encodeDeltaResponse } from '../../wire/kds-messages.ts';
import { runSteps } from '../../base/steps.ts';
import { readResponse, type ReadResponse } from './incoming.ts';
import { splitWireName } from '../protocol/wire-name.ts';
import { nackMessage, writeNackDetails } from '../protocol/nack.ts';
import { globalReceiveRules } from '../protocol/rules.ts';

const rules = globalReceiveRules('east', { hashedNames: true });

/** A response as it comes over the wire, read by a global. */
function read(type: string, resources: readonly Partial<WireResource>[], removed: readonly string[] = []): ReadResponse {
  const info = typeOf(type);
  const entries = resources.map((given) => {
    const resource = { name: 'r', mesh: 'default', labels: {}, spec: {}, status: undefined, ...given };
    const kumaResource = encodeKumaResource(info, resource);
    return encodeResourceEntry({ name: `${resource.name}.${resource.mesh}`, version: 'v', kumaResource });
  });
  const bytes = encodeDeltaResponse({ typeUrl: type, nonce: '1', controlPlane: 'east', entries, removed });
  return runSteps(readResponse(info, decodeDeltaResponse(bytes), rules, validateResource));
}

const namesOf = ({ resources }: ReadResponse): string[] => [...resources.values()].map(({ name }) => name);

describe('a response', () => {
  it.each<[string, Partial<WireResource>, RegExp]>([
    ['NUL in its name', { name: 'a\0b' }, /^name: must be letters/],
    ['NUL in its mesh', { mesh: 'a\0b' }, /^mesh: must be letters/],
  ])('with %s in one resource has only that resource refused (Kuma issue 11062)', (_, bad, reason) => {
    const response = read('MeshTimeout', [bad, { name: 'good' }]);
    expect(namesOf(response)).toEqual(['good']);
    expect(response.refusals).toMatchObject([{ type: 'MeshTimeout', reason: expect.stringMatching(reason) as string }]);
  });

  it('has only the resource refused whose spec does not fit its type, with the field', () => {
    const bad = { name: 'bad', spec: { to: [{ targetRef: { kind: 'Mesh' }, default: { idleTimeout: 5 } }] } };
    const response = read('MeshTimeout', [bad, { name: 'good' }]);
    expect(namesOf(response)).toEqual(['good']);
    expect(response.refusals).toMatchObject([
      { name: 'bad', reason: 'spec.to[0].default.idleTimeout: must be a duration such as "10s" or "1m30s"' },
    ]);
  });

  it('with the removal of an impossible name removes nothing (Kuma issue 11062)', () => {
    const { removed } = read('MeshTimeout', [], ['a\0b.default', 'b.de\0fault', 'good.default']);
    expect([...removed.values()]).toEqual([{ type: 'MeshTimeout', mesh: 'default', name: 'good' }]);
  });

  it.each<[string, string, string, RegExp]>([
    ['a type of the whole in a mesh', 'HostnameGenerator', 'default', /^mesh: must be empty/],
    ['a type of meshes without one', 'MeshTimeout', '', /^mesh: must name/],
  ])('has %s refused', (_, type, mesh, reason) => {
    const { resources, refusals } = read(type, [{ mesh }]);
    expect([...resources.keys()]).toEqual([]);
    expect(refusals).toMatchObject([{ type, mesh, name: 'r', reason: expect.stringMatching(reason) as string }]);
  });

  it('does not remove a row that it removes and adds in a refused form (kds-wire 6.2.1)', () => {
    const bad = { name: 'bad', spec: { targetRef: 5 } };
    const { removed, refusals } = read('MeshTimeout', [bad, { name: 'good' }], ['bad.default', 'good.default', 'gone.default']);
    expect(refusals).toMatchObject([{ name: 'bad' }]);
    expect([...removed.values()].map(({ name }) => name)).toEqual(['good', 'gone']);
  });
});

it('a response is read in steps: one for each resource, and one for 128 removed names', () => {
  const info = typeOf('MeshTimeout');
  const stepsOf = (resources: number, names: number): number => {
    const given = (prefix: string, count: number): string[] =>
      Array.from({ length: count }, (_, at) => `${prefix}${String(at)}.default`);
    const entries = given('r', resources).map((name) =>
      encodeResourceEntry({ name, version: 'v', kumaResource: Buffer.alloc(0) }),
    );
    const removed = given('gone', names);
    const bytes = encodeDeltaResponse({ typeUrl: info.name, nonce: '1', controlPlane: 'east', entries, removed });
    const steps = readResponse(info, decodeDeltaResponse(bytes), rules, validateResource);
    let count = 0;
    while (steps.next().done !== true) count += 1;
    return count;
  };
  expect([stepsOf(0, 0), stepsOf(3, 0), stepsOf(0, 1), stepsOf(0, 128), stepsOf(0, 129), stepsOf(2, 300)]).toEqual([
    ...[0, 3, 1, 1],
    ...[2, 5],
  ]);
});

describe('a resource of the greatest size', () => {
  const info = typeOf('MeshTimeout');
  const resource = { name: 'r', mesh: 'default', labels: {}, spec: {}, status: undefined };
  const kumaResource = encodeKumaResource(info, resource);
  const entries = [encodeResourceEntry({ name: 'r.default', version: 'v', kumaResource })];
  const response = decodeDeltaResponse(
    encodeDeltaResponse({ typeUrl: info.name, nonce: '1', controlPlane: 'east', entries, removed: [] }),
  );
  const [{ resource: sent } = { resource: Buffer.alloc(0) }] = response.resources;

  it('is read, with the number of its bytes', () => {
    const { resources, refusals } = runSteps(readResponse(info, response, rules, validateResource, sent.length));
    expect([[...resources.values()].map(({ bytes }) => bytes), refusals]).toEqual([[sent.length], []]);
  });

  it('is refused with one byte more, with both numbers', () => {
    const { resources, refusals } = runSteps(readResponse(info, response, rules, validateResource, sent.length - 1));
    expect(resources.size).toBe(0);
    expect(refusals).toMatchObject([
      {
        ...{ type: 'MeshTimeout', mesh: 'default', name: 'r' },
        reason: expect.stringMatching(
          new RegExp(`has ${String(sent.length)} bytes, global takes ${String(sent.length - 1)};`),
        ) as string,
      },
    ]);
  });
});

it.each<[wireName: string, reason: RegExp]>([
  ['other.default', /must be "r\.default", as the resource itself says; it is "other\.default"/],
  ['r.other', /must be "r\.default", .* it is "r\.other"/],
])('a resource under another name is refused under that name: %s', (wireName, reason) => {
  const info = typeOf('MeshTimeout');
  const kumaResource = encodeKumaResource(info, { name: 'r', mesh: 'default', labels: {}, spec: {}, status: undefined });
  const entries = [encodeResourceEntry({ name: wireName, version: 'v', kumaResource })];
  const bytes = encodeDeltaResponse({ typeUrl: info.name, nonce: '1', controlPlane: 'east', entries, removed: [] });
  const { resources, refusals } = runSteps(readResponse(info, decodeDeltaResponse(bytes), rules, validateResource));
  const [name = '', mesh = ''] = wireName.split('.');
  expect([resources.size, refusals]).toMatchObject([0, [{ mesh, name, reason: expect.stringMatching(reason) as string }]]);
});

it.each([
  ['a.b', { name: 'a', mesh: 'b' }],
  ['a.b.c', { name: 'a.b', mesh: 'c' }],
  ['a', { name: 'a', mesh: '' }],
  ['.b', { name: '', mesh: 'b' }],
  ['a.', { name: 'a', mesh: '' }],
])('the wire name %s has its mesh after the last dot', (wireName, expected) => {
  expect(splitWireName(wireName)).toEqual(expected);
});

describe('the refusal of a large response', () => {
  const list = (length: number): 1[] => Array.from({ length }, () => 1 as const);

  it('has a short reason for one resource', () => {
    const { refusals } = read('MeshTimeout', [{ spec: { to: list(1_900_000) } }]);
    expect(refusals).toHaveLength(1);
    expect(refusals[0]?.reason.length).toBeLessThanOrEqual(1_000);
  });

  it('is a NACK smaller than the response for many resources', () => {
    const many = Array.from({ length: 1_000 }, (_, index) => ({ name: `t${String(index)}`, spec: { to: list(500) } }));
    const { refusals } = read('MeshTimeout', [{ name: 'n'.repeat(3_000_000) }, ...many.slice(1)]);
    expect(refusals).toHaveLength(1_000);
    const details = writeNackDetails(refusals);
    expect(details).toHaveLength(1_000);
    expect(details.reduce((bytes, { value }) => bytes + value.length, 0)).toBeLessThan(300_000);
    expect(nackMessage(refusals).length).toBeLessThan(200_000);
    expect(nackMessage(refusals).split('\n').at(-1)).toBe('and 900 more');
  });
});
