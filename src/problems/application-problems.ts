// The problems of applications that do not answer their Envoys: one for each zone and mesh. It reads only the Dataplanes with an inbound that
// is not ready.
import { compareText } from '../base/compare-text.ts';
import { silentApplications } from '../inspect/silent-applications.ts';
import { displayNameOf } from '../resource/labels.ts';
import { zoneNamed } from '../resource/ownership.ts';
import type { Resource } from '../resource/types.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import { problemOf, type Problem } from './problem.ts';

/** The number of Dataplanes that are read: more say nothing new. */
const MAX_ROWS = 1_000;
/** The number of applications that one message lists. */
const MAX_LISTED = 3;
const MAX_NAMES = 5;
/** The stored text of such a Dataplane contains this. */
const UNREADY = '"state":"NotReady"';

/** Rejects when the store does not answer. */
export async function applicationProblems(store: Pick<ResourceStore, 'list'>): Promise<Problem[]> {
  const rows = await store.list({ type: 'Dataplane', specContains: UNREADY, limit: MAX_ROWS });
  const found = rows.flatMap((row) => silentApplications(row).map(({ reason }) => ({ row, reason })));
  const groups = Map.groupBy(found, ({ row }) => JSON.stringify([zoneNamed(row.labels) ?? '', row.mesh]));
  return [...groups].toSorted(([a], [b]) => compareText(a, b)).map(([, group]) => problemIn(group));
}

function problemIn(group: readonly { readonly row: Resource; readonly reason: string }[]): Problem {
  const [mesh, zone] = [group[0]?.row.mesh ?? '', zoneNamed(group[0]?.row.labels ?? {})];
  const listed = group.slice(0, MAX_LISTED).map(({ row, reason }) => `${displayNameOf(row)}: ${reason}`);
  const more = group.length > MAX_LISTED ? `; and ${String(group.length - MAX_LISTED)} more` : '';
  const resources = [...new Set(group.map(({ row }) => displayNameOf(row)))].slice(0, MAX_NAMES);
  const message = `mesh ${mesh}${zone === undefined ? '' : ` in zone ${zone}`}: ${listed.join('; ')}${more}`;
  const place = { type: 'Dataplane', mesh, ...(zone !== undefined && { zone }) };
  return problemOf('applicationSilent', [zone ?? '', mesh], { ...place, resources, count: group.length, since: null, message });
}
