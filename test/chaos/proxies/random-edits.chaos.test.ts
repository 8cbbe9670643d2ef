// A mesh is edited at random while requests go on: no request fails, connections close for the edits alone that docs/long-connections.md
// lists, and at rest each proxy holds what one gets that connects now. The seed of a run is in its title; EDITS_SEED repeats it, and
// EDITS_KINDS takes some kinds alone (a regular expression). A run that fails names the folder with its edits and with what each Envoy held.
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { seededRandom } from '../../../scripts/mutation/random.ts';
import { SteadyRequests, type SteadyClient } from '../../envoy/steady-requests.ts';
import { freePort } from '../../support/free-port.ts';
import { sized } from '../../support/test-size.ts';
import { CLOSINGS } from './closings.ts';
import { editsOf, type Edit, type EditKind } from './edit-kinds.ts';
import { EditedMesh } from './edited-mesh.ts';
import { compareAtRest, drained } from './held-at-rest.ts';
import { KeptConnections, type Kept } from './kept-connections.ts';
import { PolicyAims } from './policy-aims.ts';

const ROUNDS = sized({ push: 5, full: 120 });
const SEED = Number(process.env['EDITS_SEED'] ?? Date.now() % 100_000);
const WANTED = new RegExp(process.env['EDITS_KINDS'] ?? '');
/** Answers between two edits. */
const REQUESTS = 100;
/** Milliseconds between two requests of a client. */
const PAUSE_MS = 40;
const LIMIT_MS = 30 * 60_000;

let edited: EditedMesh;
let edits: [EditKind, Edit][];
const random = seededRandom(SEED);
const below = (count: number): number => Math.floor(random() * count);

beforeAll(async () => {
  edited = await EditedMesh.open();
  const all = Object.entries(editsOf(new PolicyAims(edited, below), await freePort())) as [EditKind, Edit][];
  edits = all.filter(([kind]) => WANTED.test(kind));
});
afterAll(() => edited.close());

it(
  `${String(ROUNDS)} rounds of random edits, seed ${String(SEED)}`,
  async () => {
    try {
      await editAtRandom();
      await compareAtRest(edited);
    } catch (error) {
      const folder = join(tmpdir(), `random-edits-${String(SEED)}`);
      await edited.keepRecord(folder);
      throw new Error(`${String(error)} (${folder})`, { cause: error });
    }
  },
  LIMIT_MS,
);

async function editAtRandom(): Promise<void> {
  const kept = new KeptConnections(edited.called);
  await kept.renew();
  const requests = await SteadyRequests.during(
    clients(),
    async (going) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const [kind, edit] = edits[below(edits.length)] ?? [];
        if (kind === undefined || edit === undefined) throw new Error(`no kind of edits is ${WANTED.source}`);
        const place = `round ${String(round)}: ${kind}`;
        edited.note(place);
        const touched = await editSome(edit);
        await drained(edited);
        edited.note('drained');
        await going.more(REQUESTS);
        const ended = await kept.renew();
        expect({ failures: [...going.failures], closed: unexpected(kind, touched, ended) }, place).toEqual({
          ...{ failures: [], closed: [] },
        });
      }
    },
    PAUSE_MS,
  );
  kept.close();
  expect(requests.failures).toEqual(new Map());
}

/** Each service is asked on a connection that stays, and on one after the other. */
function clients(): SteadyClient[] {
  const { http, http2, tcp, stream, named, alpha, beta, outside, far, spread } = edited.called;
  const asked = [http, alpha, beta, outside, far, spread].map((port) => ({ port }));
  const asked2 = [http2, outside, spread].map((port) => ({ port, speaks: 'http2' as const }));
  // A port of TCP asks no client of HTTP to connect again.
  const once = [
    { port: named },
    ...[named, stream].map((port) => ({ port, speaks: 'http2' as const })),
    { port: tcp, speaks: 'tcp' as const },
  ];
  return [
    ...[...asked, ...asked2].flatMap((client) => [Infinity, 4].map((perConnection) => ({ ...client, perConnection }))),
    ...once.map((client) => ({ ...client, perConnection: 1 })),
  ];
}

/** @returns the kept connections that pass where it has edited */
async function editSome(edit: Edit): Promise<ReadonlySet<Kept>> {
  const touched = new Set<Kept>();
  for (let times = 1 + below(3); times > 0; times -= 1) {
    for (const kept of await edit()) touched.add(kept);
    if (below(2) === 0) await edited.settle();
  }
  await edited.settle();
  edited.note('settled');
  return touched;
}

/** The kept connections that have ended and that this kind of edit does not close there. */
function unexpected(kind: EditKind, touched: ReadonlySet<Kept>, ended: readonly Kept[]): Kept[] {
  const spoken: readonly string[] = CLOSINGS[kind]?.spoken ?? [];
  return ended.filter((kept) => !touched.has(kept) || !spoken.some((one) => kept.startsWith(`${one}@`)));
}
