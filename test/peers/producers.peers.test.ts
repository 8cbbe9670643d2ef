// A producer policy in a Kuma zone: it configures how services of its own zone are called, and those of no other.
import { afterAll, beforeAll, expect, inject, it, vi } from 'vitest';
import { label } from '../../src/resource/labels.ts';
import { objectOf, objectsOf, textOf } from '../../src/resource/read-json.ts';
import type { ControlPlane } from '../support/control-plane.ts';
import { MESH } from './corpus.ts';
import { LONG_WAIT, startMixedFleet, type MixedFleet } from './mixed-fleet.ts';
import { read, write } from './rest.ts';
import { makeMesh } from './written-corpus.ts';

const LABELS = { [label.namespace]: 'shop', [label.origin]: 'zone' };

let fleet: MixedFleet;
let kuma: ControlPlane;

beforeAll(async () => {
  fleet = await startMixedFleet(inject('postgresUrl'), {
    global: 'meridian',
    zones: { 'kuma-1': 'kuma', evil: 'meridian', west: 'meridian' },
  });
  kuma = planeOf('kuma-1');
  await makeMesh(fleet);
  await write(kuma, `/meshes/${MESH}/dataplanes/web`, {
    ...{ type: 'Dataplane', mesh: MESH, name: 'web', labels: { app: 'web', [label.origin]: 'zone' } },
    networking: { address: '127.0.0.1', inbound: [{ port: 8080, name: 'http' }] },
  });
});

afterAll(() => fleet.stop());

it('a producer policy applies only to the service of its own zone', async () => {
  for (const zone of ['evil', 'west']) await writeCart(zone);
  await write(planeOf('evil'), `/meshes/${MESH}/meshtimeouts/slow`, {
    ...{ type: 'MeshTimeout', mesh: MESH, name: 'slow', labels: LABELS },
    spec: { to: [{ targetRef: { kind: 'MeshService', name: 'cart' }, default: { http: { requestTimeout: '66s' } } }] },
  });
  const services = async (): Promise<number> => [...(await kuma.rows('MeshService')).values()].length;
  await vi.waitFor(async () => expect(await services()).toBe(2), LONG_WAIT);
  await vi.waitFor(async () => expect(await configured()).toEqual(['evil']), LONG_WAIT);
});

function planeOf(zone: string): ControlPlane {
  const member = fleet.zones.find(({ name }) => name === zone);
  if (member === undefined) throw new Error(zone);
  return member.plane;
}

async function writeCart(zone: string): Promise<void> {
  await write(planeOf(zone), `/meshes/${MESH}/meshservices/cart`, {
    ...{ type: 'MeshService', mesh: MESH, name: 'cart', labels: LABELS },
    spec: { selector: { dataplaneLabels: { matchLabels: { app: 'cart' } } }, ports: [{ port: 80, appProtocol: 'http' }] },
  });
}

/** Zones of the services whose timeout of 66 s the proxy in the Kuma zone has. */
async function configured(): Promise<string[]> {
  const rules = objectsOf((await read(kuma, `/meshes/${MESH}/dataplanes/web/_rules`))['rules']);
  return rules
    .filter((rule) => rule['type'] === 'MeshTimeout')
    .flatMap((rule) => objectsOf(rule['toResourceRules']))
    .filter(({ conf }) => JSON.stringify(objectsOf(conf)).includes('1m6s'))
    .map((rule) => textOf(objectOf(objectOf(rule['resourceMeta'])['labels'])[label.zone]));
}
