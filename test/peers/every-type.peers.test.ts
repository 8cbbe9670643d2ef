// Every synced type, with only required fields and with every field, written on each control plane of a fleet of both makers.
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { inZone, MESH, pathOf, readCorpus, type Document } from './corpus.ts';
import { LONG_WAIT, startMixedFleet, type FleetPlan, type Member, type MixedFleet } from './mixed-fleet.ts';
import { refusalsOf, streamsOf } from './refusals.ts';
import { readTable } from './table.ts';
import { label } from '../../src/resource/labels.ts';
import { describeRefusal, request, write } from './rest.ts';
import { compareCopies, missingCopies, receiversOf, type Written } from './copies.ts';

const plans: FleetPlan[] = [
  { global: 'meridian', zones: { 'kuma-1': 'kuma', 'kuma-2': 'kuma', 'meridian-1': 'meridian' } },
  { global: 'kuma', zones: { 'kuma-1': 'kuma', 'meridian-1': 'meridian', 'meridian-2': 'meridian' } },
];

/** The service that a zone makes of the Dataplane `transparent`. */
const WORKER_SERVICE = {
  state: 'Unavailable',
  selector: { dataplaneLabels: { matchLabels: { 'kuma.io/workload': 'worker' } } },
  ports: [{ name: '80', port: 80, targetPort: 80, appProtocol: 'tcp' }],
};

describe.each(plans)('a $global global with zones of both makers', (plan) => {
  let fleet: MixedFleet;
  let streams: string[];
  const written: Written[] = [];
  const refused: string[] = [];

  beforeAll(async () => {
    fleet = await startMixedFleet(inject('postgresUrl'), plan);
    const mesh = { type: 'Mesh', name: MESH, skipCreatingInitialPolicies: ['*'] };
    await write(fleet.global.plane, `/meshes/${MESH}`, mesh);
    const isThere = async ({ plane }: Member): Promise<boolean> => (await plane.rows('Mesh')).has(MESH);
    for (const zone of fleet.zones) await vi.waitFor(async () => expect(await isThere(zone)).toBe(true), LONG_WAIT);
    streams = (await Promise.all(fleet.members.map(({ plane }) => streamsOf(plane)))).flat();
    for (const writer of fleet.members)
      for (const given of readCorpus().filter((one) => mayWrite(one, writer))) {
        const document = writer === fleet.global ? given : inZone(given, writer.name);
        const { status, text } = await request(writer.plane, 'PUT', pathOf(document), document.body);
        if (status === 200 || status === 201) written.push({ document, writer });
        else refused.push(`${writer.name} ${document.info.name} ${document.name}: ${describeRefusal(text)}`);
      }
  });

  afterAll(() => fleet.stop());

  it('accepts every document where it is written', () => {
    expect(refused).toEqual([]);
  });

  it('brings each document to every control plane that must have it', async () => {
    await vi.waitFor(async () => expect(await missingCopies(fleet, written)).toEqual([]), LONG_WAIT);
  });

  it('stores the same everywhere: name, labels and spec of every copy', async () => {
    expect(await compareCopies(fleet, written)).toEqual([]);
  });

  it('makes the same MeshService and Workload of a Dataplane in a zone of either maker', async () => {
    await vi.waitFor(async () => {
      const rows = (await readTable(fleet.global.plane)).filter(({ name, mesh }) => mesh === MESH && name.startsWith('worker-'));
      const made = rows.map(({ type, labels, spec }) => ({ made: `${type} of ${labels[label.zone] ?? ''}`, spec }));
      const of = ({ name }: Member): unknown[] => [
        { made: `MeshService of ${name}`, spec: WORKER_SERVICE },
        { made: `Workload of ${name}`, spec: {} },
      ];
      expect(made).toHaveLength(fleet.zones.length * 2);
      expect(made).toEqual(expect.arrayContaining(fleet.zones.flatMap(of)));
    }, LONG_WAIT);
  });

  it('refuses nothing and ends no stream', async () => {
    const all = await Promise.all(fleet.members.map(({ plane }) => refusalsOf(plane)));
    expect(all.flat()).toEqual([]);
    const now = await Promise.all(fleet.members.map(({ plane }) => streamsOf(plane)));
    expect(now.flat()).toEqual(streams);
  });

  it('takes away everywhere what is deleted', async () => {
    for (const { document, writer } of written) {
      const { status, text } = await request(writer.plane, 'DELETE', pathOf(document));
      expect.soft(status, `${writer.name} ${pathOf(document)} ${text}`).toBe(200);
    }
    const copies = written.flatMap((one) => receiversOf(fleet, one));
    await vi.waitFor(async () => expect(await missingCopies(fleet, written)).toHaveLength(copies.length), LONG_WAIT);
  });
});

function mayWrite({ info }: Document, { name }: Member): boolean {
  return info.writers === 'both' || info.writers === (name === 'global' ? 'global' : 'zone');
}
