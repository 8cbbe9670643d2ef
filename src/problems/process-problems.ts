// The problems of a control plane that no zone has: its replicas, its certificates, its meshes, and the versions in the fleet. Pure.
import type { Replica } from '../replicas/replica-roster.ts';
import { displayNameOf } from '../resource/labels.ts';
import { zoneNamed } from '../resource/ownership.ts';
import { objectsOf, textOf } from '../resource/read-json.ts';
import type { Resource } from '../resource/types.ts';
import { problemOf, type Problem } from './problem.ts';

const DAY_MS = 24 * 3_600_000;
/** The time of the alert MeridianCertificateEnds. */
const CERTIFICATE_MS = 14 * DAY_MS;
/** An election takes seconds, that of a lost leader up to half a minute. */
const NO_LEADER_MS = 60_000;
/** The number of names in a message. */
const MAX_NAMES = 5;

type KnownReplica = Replica & { readonly isSilent: boolean };

/** @param notForwarded the number of resources that other zones do not get, by zone and by mesh of which the zone is no member */
export function membershipProblems(notForwarded: ReadonlyMap<string, ReadonlyMap<string, number>>): Problem[] {
  return [...notForwarded].flatMap(([zone, meshes]) =>
    [...meshes].map(([mesh, count]) => {
      const message = `zone ${zone} is not a member of mesh ${mesh}: other zones do not get its ${String(count)} services, trusts and policies there`;
      return problemOf('notAMember', [zone, mesh], { zone, mesh, count, since: null, message });
    }),
  );
}

/** @param kinds the kinds of losses of zones; none while zones can connect */
export function takeoverProblems(kinds: readonly string[], instanceId: string): Problem[] {
  if (kinds.length === 0) return [];
  const message = `no zone can connect: by the takeover from Kuma zones would lose ${namesIn(kinds)}`;
  return [
    problemOf('takeoverLosses', [], {
      instanceId,
      since: null,
      resources: kinds.slice(0, MAX_NAMES),
      count: kinds.length,
      message,
    }),
  ];
}

/** @param startedAt the start of this process: before a minute has passed, it may not know the leader */
export function replicaProblems(replicas: readonly KnownReplica[], startedAt: Date, now: Date): Problem[] {
  const living = replicas.filter(({ isSilent }) => !isSilent);
  const leaders = living.filter(({ isLeader }) => isLeader);
  const found = replicas
    .filter(({ isSilent }) => isSilent)
    .map(({ instanceId, lastSeen }) => {
      const since = lastSeen.toISOString();
      const message = `replica ${instanceId} ended without a word, or does not reach the database: it was heard of last at ${since}`;
      return problemOf('replicaAway', [instanceId], { instanceId, since, message });
    });
  if (leaders.length > 1) {
    const names = leaders.map(({ instanceId }) => instanceId).join(', ');
    const since = leaders.map((one) => one.since).toSorted().at(-1) ?? null; // oxfmt-ignore
    found.push(problemOf('twoLeaders', [], { since, message: `these replicas lead at the same time: ${names}` }));
  }
  const last = living.map(({ since }) => since).concat(startedAt.toISOString()).toSorted().at(-1) ?? ''; // oxfmt-ignore
  if (leaders.length === 0 && now.getTime() - Date.parse(last) >= NO_LEADER_MS)
    found.push(
      problemOf('noLeader', [], {
        since: last,
        message: 'no replica of this control plane leads: nothing is computed, and a zone does not connect to global',
      }),
    );
  return found;
}

/** @param ends the end of the certificate of each server */
export function certificateProblems(ends: ReadonlyMap<string, Date>, instanceId: string, now: Date): Problem[] {
  return [...ends]
    .filter(([, end]) => end.getTime() - now.getTime() < CERTIFICATE_MS)
    .map(([server, end]) => {
      const until = end.toISOString();
      const message = `the certificate of the server ${server} ${end <= now ? 'has ended' : 'ends'} at ${until}`;
      return problemOf('certificateEnds', [server, instanceId], { instanceId, since: null, until, message });
    });
}

/** @param members the versions of the replicas and the connected zones that are of this product, by name */
export function versionProblems(members: ReadonlyMap<string, string>): Problem[] {
  const byVersion = Map.groupBy(members.keys(), (name) => members.get(name) ?? '');
  if (byVersion.size < 2) return [];
  const parts = [...byVersion]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([version, names]) => `${version}: ${namesIn(names)}`);
  return [
    problemOf('versionSkew', [], {
      since: null,
      message: `the fleet has ${String(byVersion.size)} versions. ${parts.join('; ')}`,
    }),
  ];
}

/** @param services the services that take plain text, by mesh */
export function plaintextProblems(services: ReadonlyMap<string, readonly string[]>): Problem[] {
  return [...services]
    .filter(([, names]) => names.length > 0)
    .map(([mesh, names]) =>
      problemOf('meshPlaintext', [mesh], {
        ...{ type: 'MeshService', mesh, resources: names.slice(0, MAX_NAMES), count: names.length, since: null },
        message: `${String(names.length)} services of mesh ${mesh} take plain text, and the mesh has a MeshIdentity: ${namesIn(names)}`,
      }),
    );
}

/** @param identities MeshIdentities. One without conditions is not computed yet, or is not of this control plane */
export function identityProblems(identities: readonly Resource[]): Problem[] {
  return identities.flatMap((identity) => {
    const { type, mesh, name, labels, status } = identity;
    const failed = objectsOf(status['conditions']).find((one) => one['type'] === 'Ready' && one['status'] === 'False');
    if (failed === undefined) return [];
    const [zone, shown] = [zoneNamed(labels), displayNameOf(identity)];
    const place = zone === undefined ? `mesh ${mesh}` : `mesh ${mesh} in zone ${zone}`;
    const message = `MeshIdentity ${shown} of ${place} is not ready: ${textOf(failed['message']) || textOf(failed['reason'])}`;
    const about = { type, mesh, ...(zone !== undefined && { zone }), resources: [shown], since: null, message };
    return [problemOf('identityNotReady', [mesh, name], about)];
  });
}

function namesIn(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).join(', ');
  return names.length > MAX_NAMES ? `${shown} and ${String(names.length - MAX_NAMES)} more` : shown;
}
