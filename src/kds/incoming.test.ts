// The readable resources of a response go to the store. Each other one becomes a refusal that names it, and no row is lost.
import { describe, expect, it } from 'vitest';
import { encodeKumaResource, type WireResource } from '../resource/codec.ts';
import { typeOf } from '../resource/type-registry.ts';
import { validateResource } from '../resource/validate-spec.ts';
import { encodeResourceEntry, decodeDeltaResponse, encodeDeltaResponse } from '../wire/kds-messages.ts';
import { runSteps } from '../base/steps.ts';
import { readResponse, type ReadResponse } from './incoming.ts';
import { nackMessage, writeNackDetails } from './nack.ts';
import { globalReceiveRules } from './rules.ts';

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
  ])('with %s in one resource has only that resource refused (pain 11062)', (_, bad, reason) => {
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

  it('with the removal of an impossible name removes nothing (pain 11062)', () => {
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
