// Every synced type, with only required fields and with every field, written on each control plane of a fleet of both makers.
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { label } from '../../src/resource/labels.ts';
import { typeOf } from '../../src/resource/type-registry.ts';
import { compareCopies, meaningOf, missingCopies, receiversOf } from './copies.ts';
import { MESH, pathOf, readCorpus } from './corpus.ts';
import { LONG_WAIT, startMixedFleet, type FleetPlan, type Member, type MixedFleet } from './mixed-fleet.ts';
import { refusalsOf, endedStreamsOf } from './refusals.ts';
import { request } from './rest.ts';
import { readTable } from './table.ts';
import { makeMesh, writeAll, type Attempts } from './written-corpus.ts';

const plans: FleetPlan[] = [
  { global: 'meridian', zones: { 'kuma-1': 'kuma', 'kuma-2': 'kuma', 'meridian-1': 'meridian' } },
  { global: 'kuma', zones: { 'kuma-1': 'kuma', 'meridian-1': 'meridian', 'meridian-2': 'meridian' } },
];

/** The service that a zone makes of the Dataplane `transparent`; its state is computed later. */
const WORKER_SERVICE = {
  selector: { dataplaneLabels: { matchLabels: { 'kuma.io/workload': 'worker' } } },
  ports: [{ name: '80', port: 80, targetPort: 80, appProtocol: 'tcp' }],
};

describe.each(plans)('a $global global with Kuma and Meridian zones', (plan) => {
  let fleet: MixedFleet;
  let attempts: Attempts;

  beforeAll(async () => {
    fleet = await startMixedFleet(inject('postgresUrl'), plan);
    await makeMesh(fleet);
    attempts = await writeAll(readCorpus(), fleet.members);
  });

  afterAll(() => fleet.stop());

  it('accepts every document where it is written', () => {
    expect(attempts.refused).toEqual([]);
  });

  it('syncs each document to every expected control plane', async () => {
    await vi.waitFor(async () => expect(await missingCopies(fleet, attempts.written)).toEqual([]), LONG_WAIT);
  });

  it('stores the same everywhere: name, labels and spec of every copy', async () => {
    // Zones compute on some of them for seconds.
    await vi.waitFor(async () => expect(await compareCopies(fleet, attempts.written)).toEqual([]), LONG_WAIT);
  });

  it('has the same MeshService and Workload for a Dataplane of a Kuma or Meridian zone', async () => {
    await vi.waitFor(async () => {
      const rows = (await readTable(fleet.global.plane)).filter(({ name, mesh }) => mesh === MESH && name.startsWith('worker-'));
      const made = rows.map(({ type, labels, spec }) => ({
        made: `${type} of ${labels[label.zone] ?? ''}`,
        spec: meaningOf(typeOf(type), spec),
      }));
      const of = ({ name }: Member): unknown[] => [
        { made: `MeshService of ${name}`, spec: WORKER_SERVICE },
        { made: `Workload of ${name}`, spec: {} },
      ];
      expect(made).toHaveLength(fleet.zones.length * 2);
      expect(made).toEqual(expect.arrayContaining(fleet.zones.flatMap(of)));
    }, LONG_WAIT);
  });

  it('has no refusal and no ended stream', async () => {
    const all = await Promise.all(fleet.members.map(({ plane }) => refusalsOf(plane)));
    expect(all.flat()).toEqual([]);
    const ended = await Promise.all(fleet.members.map(({ plane }) => endedStreamsOf(plane)));
    expect(ended.flat()).toEqual([]);
  });

  it('deletes each resource everywhere', async () => {
    for (const { document, writer } of attempts.written) {
      const { status, text } = await request(writer.plane, 'DELETE', pathOf(document));
      expect.soft(status, `${writer.name} ${pathOf(document)} ${text}`).toBe(200);
    }
    const copies = attempts.written.flatMap((one) => receiversOf(fleet, one));
    await vi.waitFor(async () => expect(await missingCopies(fleet, attempts.written)).toHaveLength(copies.length), LONG_WAIT);
  });
});
