// The committed start states and steps follow from the recording, and the function that derives them inverts the mapping.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { hashName } from '../../src/resource/hash-name.ts';
import { label } from '../../src/resource/labels.ts';
import { typeOf } from '../../src/resource/type-registry.ts';
import { derivedFiles, deriveStart } from './derive-start.ts';
import { lossesIn } from './lost-labels.ts';
import { resourcesOf, responses, sides, senderOf, vectorsFolder } from './recording.ts';
import { startOf, stepsOf } from './start-state.ts';

const derived = deriveStart();

describe('the stored start states', () => {
  it.each([...derivedFiles(derived)])('%s is derived from the recording', (name, text) => {
    const path = join(vectorsFolder, name);
    const advice = `run DERIVE=1 node test/replay/derive-start.ts and read the difference in test/wire/vectors/${name}`;
    expect(existsSync(path) ? readFileSync(path, 'utf8') : null, advice).toBe(text);
  });

  it.each(sides)('%s is read back as it was derived', (side) => {
    expect(startOf(side)).toEqual(derived.start[side]);
    expect(stepsOf(side)).toEqual(derived.steps.filter((step) => step.side === side));
  });

  it('have every resource that their own side sent, and no copy', () => {
    for (const side of sides) {
      const zone = side === 'global' ? undefined : side;
      const steps = derived.steps.flatMap((step) => (step.side === side && step.put !== undefined ? [step.put] : []));
      const named = new Set(
        [...derived.start[side], ...steps].map(({ type, mesh, name }) => {
          const wireName = typeOf(type).kds.skipHash ? name : hashName({ mesh, name, zone });
          return `${type}/${wireName}.${mesh}`;
        }),
      );
      const sent = responses
        .filter((frame) => senderOf(frame) === side)
        .flatMap(({ response }) => resourcesOf(response))
        .filter(({ labels }) => labels[label.zone] === zone)
        .map(({ info, wireName }) => `${info.name}/${wireName}`);
      expect([...named].sort()).toEqual([...new Set(sent)].sort());
    }
  });
});

describe('the fault of the recorded zones', () => {
  it('is one update of one MeshService without labels, which the next update has again', () => {
    const lost = { 'kuma.io/env': 'universal', 'kuma.io/mesh': 'default' };
    for (const side of sides) {
      const losses = lossesIn(responses.filter((frame) => senderOf(frame) === side));
      expect(losses).toEqual(side === 'zone-1' ? [{ line: 305, wireName: 'backend-d8466458x7574b7b.default', lost }] : []);
    }
  });

  it('is not in the steps, which have no change of labels there', () => {
    const steps = stepsOf('zone-1').filter(({ put }) => put?.type === 'MeshService');
    expect(steps.map(({ at, put }) => [at, put?.labels !== undefined])).toEqual([
      [303, true],
      [305, false],
    ]);
  });
});
