// A fleet in which every control plane has written every document of the corpus that it may write.
import { expect, vi } from 'vitest';
import { inZone, MESH, pathOf, type Document } from './corpus.ts';
import type { Written } from './copies.ts';
import { LONG_WAIT, type Member, type MixedFleet } from './mixed-fleet.ts';
import { describeRefusal, request, write } from './rest.ts';

export type Attempts = {
  readonly written: readonly Written[];
  /** One line for each write that was refused. */
  readonly refused: readonly string[];
};

/** Makes the mesh of the corpus on global and waits until all zones have it. */
export async function makeMesh({ global, zones }: MixedFleet): Promise<void> {
  await write(global.plane, `/meshes/${MESH}`, { type: 'Mesh', name: MESH, skipCreatingInitialPolicies: ['*'] });
  const isThere = async ({ plane }: Member): Promise<boolean> => (await plane.rows('Mesh')).has(MESH);
  for (const zone of zones) await vi.waitFor(async () => expect(await isThere(zone)).toBe(true), LONG_WAIT);
}

/** Writes the documents on each of the members that may write them. */
export async function writeAll(documents: readonly Document[], members: readonly Member[]): Promise<Attempts> {
  const written: Written[] = [];
  const refused: string[] = [];
  for (const writer of members)
    for (const given of documents.filter((one) => mayWrite(one, writer))) {
      const document = writer.name === 'global' ? given : inZone(given, writer.name);
      const { status, text } = await request(writer.plane, 'PUT', pathOf(document), document.body);
      if (status === 200 || status === 201) written.push({ document, writer });
      else refused.push(`${writer.name} ${document.info.name} ${document.name}: ${describeRefusal(text)}`);
    }
  return { written, refused };
}

function mayWrite({ info }: Document, { name }: Member): boolean {
  return info.writers === 'both' || info.writers === (name === 'global' ? 'global' : 'zone');
}
