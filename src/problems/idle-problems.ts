// The problems of valid resources whose parts do not mean what they seem to: parts without effect, because what they name does not exist or
// has several ports, and prefixes that fit more clients. It reads routes, policies, services and names of Secrets alone: an index of all rows
// of a large mesh would be kept for it.
import type { Clock } from '../base/clock.ts';
import { compareText } from '../base/compare-text.ts';
import { runInSlices, type Steps } from '../base/steps.ts';
import { IDLE_TYPES, idleParts, NAMED_TYPES, type IdlePart } from '../inspect/idle-parts.ts';
import { MeshIndex } from '../policy/mesh-index.ts';
import { CLIENT_MATCHING_TYPES, closedPrefixes, idsOfServices, widePrefixes, type WidePrefix } from '../policy/wide-prefixes.ts';
import { displayNameOf } from '../resource/labels.ts';
import { zoneNamed } from '../resource/ownership.ts';
import { keyText, type Resource } from '../resource/types.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import { problemOf, type Problem } from './problem.ts';

/** The number of parts that one message lists. */
const MAX_PARTS = 3;
/** Milliseconds of work before other work runs. */
const SLICE_MS = 10;

/** One problem for each resource with such parts. Rejects when the store does not answer. */
export async function idleProblems(store: Pick<ResourceStore, 'list'>, clock: Pick<Clock, 'elapsed'>): Promise<Problem[]> {
  const written = (await Promise.all(IDLE_TYPES.map((type) => store.list({ type })))).flat();
  const problems: Problem[] = [];
  for (const [mesh, ofMesh] of [...Map.groupBy(written, (row) => row.mesh)].toSorted(([a], [b]) => compareText(a, b))) {
    const named = (await Promise.all(NAMED_TYPES.map((type) => store.list({ type, mesh })))).flat();
    problems.push(...(await runInSlices(problemsIn(mesh, ofMesh, named), SLICE_MS, clock)));
  }
  return [...problems, ...(await prefixProblems(store, clock))];
}

/** One problem for each policy with prefixes that fit more services than they name. */
async function prefixProblems(store: Pick<ResourceStore, 'list'>, clock: Pick<Clock, 'elapsed'>): Promise<Problem[]> {
  const written = (await Promise.all(CLIENT_MATCHING_TYPES.map((type) => store.list({ type })))).flat();
  const closed = written.filter((row) => closedPrefixes(row).length > 0);
  const problems: Problem[] = [];
  for (const [mesh, ofMesh] of [...Map.groupBy(closed, (row) => row.mesh)].toSorted(([a], [b]) => compareText(a, b))) {
    const ids = new Set(idsOfServices(await store.list({ type: 'MeshService', mesh })));
    for (const row of ofMesh) {
      const wide = await runInSlices(widePrefixes(closedPrefixes(row), ids), SLICE_MS, clock);
      problems.push(...problemsOf('prefixesWide', row, wide));
    }
  }
  return problems;
}

function* problemsIn(mesh: string, written: readonly Resource[], named: readonly Resource[]): Steps<Problem[]> {
  const index = new MeshIndex(mesh);
  const rows = new Map([...named, ...written].map((row) => [keyText(row), row]));
  for (const row of rows.values()) {
    index.put(row);
    yield;
  }
  const problems: Problem[] = [];
  for (const row of written) problems.push(...problemsOf('partsIdle', row, yield* idleParts(index, row)));
  return problems;
}

function problemsOf(code: 'partsIdle' | 'prefixesWide', row: Resource, parts: readonly (IdlePart | WidePrefix)[]): Problem[] {
  if (parts.length === 0) return [];
  const { type, mesh, name, labels } = row;
  const [zone, shown] = [zoneNamed(labels), displayNameOf(row)];
  const listed = parts.slice(0, MAX_PARTS).map(({ field, reason }) => `${field} ${reason}`);
  const more = parts.length > MAX_PARTS ? `; and ${String(parts.length - MAX_PARTS)} more` : '';
  const message = `${type} ${shown} of mesh ${mesh}: ${listed.join('; ')}${more}`;
  const about = {
    type,
    mesh,
    ...(zone !== undefined && { zone }),
    resources: [shown],
    count: parts.length,
    since: null,
    message,
  };
  return [problemOf(code, [type, mesh, name], about)];
}
