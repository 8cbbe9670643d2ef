// The hints of a zone about inbounds whose applications nothing probes: one for each mesh, however many there are (decision 58).
import type { Answer } from '../answers/answers.ts';
import { compareText } from '../base/compare-text.ts';
import type { Steps } from '../base/steps.ts';
import { PROBE_REMEDY, unprobedInbounds } from '../inspect/unprobed-inbounds.ts';
import type { MeshIndex } from '../policy/mesh-index.ts';

export type Hint = Answer<'Hint'>;

/** The number of inbounds that one sentence names. */
const MAX_NAMED = 3;

/**
 * Makes the hints in steps, because a mesh may have thousands of Dataplanes.
 * @param indexes the indexes of the meshes of the zone
 */
export function* unprobedHints(indexes: readonly Pick<MeshIndex, 'mesh' | 'proxies'>[], zone: string): Steps<Hint[]> {
  const hints: Hint[] = [];
  for (const index of indexes.toSorted((a, b) => compareText(a.mesh, b.mesh))) {
    const found: string[] = [];
    for (const proxy of index.proxies()) {
      yield;
      if (proxy.zone === zone) found.push(...unprobedInbounds(proxy.resource).map((name) => `${proxy.displayName} ${name}`));
    }
    if (found.length > 0) hints.push(hintOf(index.mesh, zone, found.toSorted(compareText)));
  }
  return hints;
}

function hintOf(mesh: string, zone: string, found: readonly string[]): Hint {
  const more = found.length > MAX_NAMED ? ` and ${String(found.length - MAX_NAMED)} more` : '';
  const inbounds = found.length === 1 ? 'an inbound' : `${String(found.length)} inbounds`;
  const message =
    `mesh ${mesh} in zone ${zone}: nothing probes the application of ${inbounds} of tcp (${found.slice(0, MAX_NAMED).join(', ')}${more}), ` +
    'so a dead one still gets requests';
  return { code: 'applicationUnprobed', mesh, zone, count: found.length, message, remedy: PROBE_REMEDY };
}
