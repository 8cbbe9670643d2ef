// The hints about inbounds whose applications nothing probes, from the index of a mesh.
import { expect, it } from 'vitest';
import { makeRow } from '../../test/support/make-row.ts';
import { runSteps } from '../base/steps.ts';
import { MeshIndex } from '../policy/mesh-index.ts';
import type { JsonObject } from '../resource/types.ts';
import { unprobedHints } from './unprobed-hints.ts';

function meshOf(count: number, inbound: JsonObject): MeshIndex {
  const index = new MeshIndex('shop');
  for (let at = 0; at < count; at += 1) {
    const spec = { networking: { address: '10.0.0.7', inbound: [inbound] } };
    index.put(makeRow('Dataplane', `db-${String(at)}`, { mesh: 'shop', labels: { 'kuma.io/zone': 'east' }, spec }));
  }
  return index;
}

it('a mesh has one, however many inbounds there are, with the first of them', () => {
  expect(runSteps(unprobedHints([meshOf(2_000, { name: 'main', port: 5432, protocol: 'tcp' })], 'east'))).toEqual([
    {
      ...{ code: 'applicationUnprobed', mesh: 'shop', zone: 'east', count: 2_000 },
      message:
        'mesh shop in zone east: nothing probes the application of 2000 inbounds of tcp (db-0 main, db-1 main, db-10 main and 1997 more), ' +
        'so a dead one still gets requests',
      remedy: 'write serviceProbe, or the label probe.meridian.io/NAME: disabled where none is wanted',
    },
  ]);
});

it('a mesh of http has none, and neither have Dataplanes of other zones', () => {
  expect(runSteps(unprobedHints([meshOf(3, { port: 80, protocol: 'http' })], 'east'))).toEqual([]);
  expect(runSteps(unprobedHints([meshOf(3, { port: 80 })], 'west'))).toEqual([]);
});
