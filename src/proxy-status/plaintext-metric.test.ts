import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { makeRow } from '../../test/support/make-row.ts';
import { MeshIndex } from '../policy/mesh-index.ts';
import type { JsonObject, Resource } from '../resource/types.ts';
import { createPlaintextMetric } from './plaintext-metric.ts';

function row(mesh: string, type: string, name: string, zone: string, spec: JsonObject = {}, status: JsonObject = {}): Resource {
  return makeRow(type, name, { mesh, labels: { 'kuma.io/zone': zone, 'kuma.io/origin': 'zone' }, spec, status });
}

it('counts the available services of the zone that do not demand TLS, in meshes with an identity', async () => {
  const services = (mesh: string): Resource[] => [
    row(mesh, 'MeshService', 'new', 'east', { state: 'Available' }),
    row(mesh, 'MeshService', 'ready', 'east', { state: 'Available' }, { tls: { status: 'Ready' } }),
    row(mesh, 'MeshService', 'strict', 'east', { state: 'Available' }, { tls: { status: 'Ready', enforced: true } }),
    row(mesh, 'MeshService', 'away', 'east', { state: 'Unavailable' }),
    row(mesh, 'MeshService', 'foreign', 'west', { state: 'Available' }),
  ];
  const indexes = [
    new MeshIndex('shop', [...services('shop'), row('shop', 'MeshIdentity', 'identity', 'east')]),
    new MeshIndex('plain', services('plain')),
  ];
  const registry = new Registry();
  createPlaintextMetric(registry, { known: () => indexes }, 'east');
  const metric = registry.getSingleMetric('meridian_mesh_plaintext_services');
  expect((await metric?.get())?.values).toMatchObject([
    { labels: { mesh: 'shop' }, value: 2 },
    { labels: { mesh: 'plain' }, value: 0 },
  ]);
  indexes.pop();
  expect((await metric?.get())?.values).toHaveLength(1);
});
