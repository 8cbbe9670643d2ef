// Derives the start states of the recorded control planes and the later changes, by the inverse of the wire mapping (kds-wire 5.3,
// 5.4). `DERIVE=1 node test/replay/derive-start.ts` writes the files beside the recording.
// Invariant: a store or a step has only rows of its own side; a replay creates the copies.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { displayNameOf, label } from '../../src/resource/labels.ts';
import type { Labels } from '../../src/resource/types.ts';
import { lossesIn } from './lost-labels.ts';
import { resourcesOf, responses, senderOf, sides, vectorsFolder, type ResponseFrame, type Side } from './recording.ts';
import { textOf, type Row, type Step } from './start-state.ts';

export type Derived = { readonly start: Readonly<Record<Side, readonly Row[]>>; readonly steps: readonly Step[] };

/** @throws Error when the recorded global sent its zones different states */
export function deriveStart(): Derived {
  const derived = sides.map((side) => deriveSide(side));
  const [global, one, two] = derived.map(({ start }) => start);
  const steps = derived.flatMap((each) => each.steps).sort((a, b) => a.at - b.at);
  return { start: { global: global ?? [], 'zone-1': one ?? [], 'zone-2': two ?? [] }, steps };
}

/** The stored files: name → text. */
export function derivedFiles({ start, steps }: Derived): ReadonlyMap<string, string> {
  const files = sides.map((side) => [`start-${side}.yaml`, textOf(`What the store of ${side} held`, start[side])] as const);
  return new Map([...files, ['steps.yaml', textOf('What was done later, each before line `at` of the recording', steps)]]);
}

function deriveSide(side: Side): { start: Row[]; steps: Step[] } {
  const stream = responses.filter((frame) => senderOf(frame) === side);
  const lost = new Map(lossesIn(stream).map(({ line, wireName, lost }) => [`${String(line)}/${wireName}`, lost]));
  const rows = new Map<string, Row>();
  const start = new Map<string, Row>();
  const steps: Step[] = [];
  for (const frame of stream) {
    const { typeUrl: type, removedResources } = frame.response;
    const isFirst = isFirstOfType(frame);
    for (const { wireName, ...resource } of resourcesOf(frame.response)) {
      if (side === 'global' && resource.labels[label.zone] !== undefined) continue;
      const key = `${type}/${wireName}`;
      const healed = { ...resource.labels, ...lost.get(`${String(frame.line)}/${wireName}`) };
      const row: Row = {
        ...{ type, mesh: resource.mesh, name: displayNameOf(resource) },
        labels: storedLabels(healed, side, resource.info.kds.skipHash),
        spec: resource.spec,
        // Global sends a zero in place of its own status.
        ...(side !== 'global' && resource.status !== undefined && { status: resource.status }),
      };
      const known = rows.get(key);
      if (isDeepStrictEqual(known, row)) continue;
      if (isFirst && known !== undefined) throw new Error(`line ${String(frame.line)}: ${key} differs between zones`);
      rows.set(key, row);
      if (isFirst) start.set(key, row);
      else steps.push({ at: frame.line, side, put: changed(known, row) });
    }
    for (const wireName of removedResources) {
      const row = rows.get(`${type}/${wireName}`);
      if (!rows.delete(`${type}/${wireName}`) || row === undefined) continue;
      steps.push({ at: frame.line, side, delete: { type, mesh: row.mesh, name: row.name } });
    }
  }
  return { start: [...start].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row), steps };
}

/** The first response of a type on a stream is the full state. */
function isFirstOfType({ line, zone, rpc, response }: ResponseFrame): boolean {
  const first = responses.find(
    (other) => other.zone === zone && other.rpc === rpc && other.response.typeUrl === response.typeUrl,
  );
  return first?.line === line;
}

/**
 * A row with only the labels that every sender adds is a default, which global stores without labels and a zone with its origin
 * (kds-wire 9). Any other row was written through the API, which computes all labels (kds-wire 5.1).
 */
function storedLabels(labels: Labels, side: Side, skipHash: boolean): Labels {
  const added = [label.origin, ...(skipHash ? [] : [label.displayName]), ...(side === 'global' ? [] : [label.zone])];
  const isDefault = Object.keys(labels).every((key) => added.some((name) => name === key));
  if (isDefault) return side === 'global' ? {} : { [label.origin]: 'zone' };
  return labels;
}

/** A complete new row, or the changed fields of a known row. */
function changed(known: Row | undefined, row: Row): Step['put'] {
  const { labels, spec, status, ...key } = row;
  if (known === undefined) return row;
  return {
    ...key,
    ...(!isDeepStrictEqual(known.labels, labels) && { labels }),
    ...(!isDeepStrictEqual(known.spec, spec) && { spec }),
    ...(!isDeepStrictEqual(known.status, status) && { status }),
  };
}

if (process.env['DERIVE'] === '1')
  for (const [name, text] of derivedFiles(deriveStart())) writeFileSync(join(vectorsFolder, name), text);
