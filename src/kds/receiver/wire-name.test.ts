// A resource on the wire has two names: one for versions, removals and refusals, and one under which it is stored. A peer that sends
// different names must not update, prune or resume one row under the name of another.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { decodeKumaResource, encodeKumaResource } from '../../resource/codec.ts';
import { typeOf } from '../../resource/type-registry.ts';
import { decodeDeltaResponse, encodeDeltaResponse, encodeResourceEntry } from '../../wire/kds-messages.ts';
import { runSteps } from '../../base/steps.ts';
import { readResponse, type ReadResponse } from './incoming.ts';
import { globalReceiveRules } from '../protocol/rules.ts';

const info = typeOf('MeshTimeout');

/** A response whose resources are called as the first of each pair on the wire, and as the second inside. */
function read(named: readonly (readonly [wireName: string, name: string])[], removed: readonly string[] = []): ReadResponse {
  const entries = named.map(([name, inner]) => {
    const kumaResource = encodeKumaResource(info, { name: inner, mesh: 'default', labels: {}, spec: {}, status: undefined });
    return encodeResourceEntry({ name, version: 'v', kumaResource });
  });
  const bytes = encodeDeltaResponse({ typeUrl: info.name, nonce: '1', controlPlane: 'east', entries, removed });
  return runSteps(readResponse(info, decodeDeltaResponse(bytes), globalReceiveRules('east', { hashedNames: true }), () => []));
}

it.each(['outer.default', 'inner.other', 'inner', ''])(
  'a resource is refused when its name is %j on the wire and inner.default inside',
  (wire) => {
    const { resources, refusals } = read([
      [wire, 'inner'],
      ['good.default', 'good'],
    ]);
    expect([...resources.values()].map(({ name }) => name)).toEqual(['good']);
    const dot = wire.lastIndexOf('.');
    expect(refusals).toEqual([
      {
        ...{ type: 'MeshTimeout', name: dot < 0 ? wire : wire.slice(0, dot), mesh: dot < 0 ? '' : wire.slice(dot + 1) },
        reason: expect.stringContaining('"inner.default"') as string,
      },
    ]);
  },
);

it('a refused wire name leaves both rows unchanged, for any other use of it in the response', () => {
  const { resources, removed } = read([['outer.default', 'inner']], ['outer.default']);
  expect([...resources.keys(), ...removed.keys()]).toEqual([]);
});

it('every recorded resource of a real peer has the same name on the wire and inside', () => {
  const recording = readFileSync(join(import.meta.dirname, '../../../test/wire/vectors/kds-session.jsonl'), 'utf8')
    .trimEnd()
    .split('\n');
  const frames = recording.map((line) => JSON.parse(line) as { message?: string; base64: string });
  const responses = frames
    .filter(({ message }) => message === 'DeltaDiscoveryResponse')
    .map(({ base64 }) => decodeDeltaResponse(Buffer.from(base64, 'base64')));
  const names = responses.flatMap(({ typeUrl, resources }) =>
    resources.map(({ name, resource }) => ({ name, inside: decodeKumaResource(typeOf(typeUrl), resource) })),
  );
  expect(names.length).toBeGreaterThan(50);
  for (const { name, inside } of names) expect(name).toBe(`${inside.name}.${inside.mesh}`);
});
