// Random specs of every JSON type. The Kuma zone says which ones are valid; those are written on all sides and must mean the
// same everywhere. Of the others, what Meridian takes must not make a Kuma zone refuse anything.
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { compareCopies, missingCopies } from './copies.ts';
import { pathOf, inZone, readCorpus, type Document } from './corpus.ts';
import { LONG_WAIT, startMixedFleet, type Member, type MixedFleet } from './mixed-fleet.ts';
import { mutantsOf, randomOf } from './mutants.ts';
import { refusalsOf, endedStreamsOf } from './refusals.ts';
import { request } from './rest.ts';
import { makeMesh, writeAll, type Attempts } from './written-corpus.ts';

/** Another seed tries other specs: `PEERS_SEED=2 npm run test:peers`. */
const SEED = Number(process.env['PEERS_SEED'] ?? 1);
const PER_TYPE = 12;

/** Specs that Meridian refuses on purpose although Kuma stores them: they could never match or select anything. */
const STRICTER = [
  /must be text that is not empty/,
  /must be an RFC \d+ label/,
  /must be a whole number from/,
  /value: must be given with type/,
  // What Envoy refuses (decision 20).
  /must have weights of at most \d+ together/,
  /is not a (certificate|private key) in PEM form/,
];

describe(`random specs of seed ${String(SEED)}`, () => {
  let fleet: MixedFleet;
  let valid: Document[];
  let attempts: Attempts;

  beforeAll(async () => {
    fleet = await startMixedFleet(inject('postgresUrl'), {
      global: 'meridian',
      zones: { 'kuma-1': 'kuma', 'meridian-1': 'meridian' },
    });
    await makeMesh(fleet);
    const [kuma, ours] = fleet.zones as [Member, Member];
    const candidates = mutants();
    const isValid = new Map<Document, boolean>();
    for (const candidate of candidates) isValid.set(candidate, await takes(kuma, candidate));
    valid = candidates.filter((one) => isValid.get(one));
    attempts = await writeAll(valid, fleet.members);
    await writeAll(
      candidates.filter((one) => !valid.includes(one)),
      [fleet.global, ours],
    );
  });

  afterAll(() => fleet.stop());

  it('include enough valid specs', () => {
    expect(valid.length).toBeGreaterThan(mutants().length / 4);
  });

  it('are accepted as by Kuma, except for fields without effect', () => {
    const unexpected = attempts.refused.filter((line) => !STRICTER.some((reason) => reason.test(line)));
    expect(unexpected).toEqual([]);
  });

  it('are synced to every expected control plane', async () => {
    await vi.waitFor(async () => expect(await missingCopies(fleet, attempts.written)).toEqual([]), LONG_WAIT);
  });

  it('are stored with the same name, labels and spec everywhere', async () => {
    // Zones compute on some of them for seconds.
    await vi.waitFor(async () => expect(await compareCopies(fleet, attempts.written)).toEqual([]), LONG_WAIT);
  });

  it('are never refused by a peer, and end no stream', async () => {
    const all = await Promise.all(fleet.members.map(({ plane }) => refusalsOf(plane)));
    expect(all.flat()).toEqual([]);
    const ended = await Promise.all(fleet.members.map(({ plane }) => endedStreamsOf(plane)));
    expect(ended.flat()).toEqual([]);
  });
});

/** Of every type whose spec is JSON and that a zone may write, so that the Kuma zone can be asked. */
function mutants(): Document[] {
  const corpus = readCorpus().filter(({ info }) => info.codec.kind === 'json' && info.writers !== 'global');
  const byType = Map.groupBy(corpus, ({ info }) => info.name);
  return [...byType.values()].flatMap((documents) => mutantsOf(documents, PER_TYPE, randomOf(SEED)));
}

async function takes(member: Member, candidate: Document): Promise<boolean> {
  const document = inZone(candidate, member.name);
  const { status } = await request(member.plane, 'PUT', pathOf(document), document.body);
  return status === 200 || status === 201;
}
