// The known replicas of a control plane as an answer.
import type { Answer } from '../answers/answers.ts';
import type { ReplicaRoster } from './replica-roster.ts';

/** `leader` is the replica that leads for the shortest time: another one may have lost its session and not know it yet. */
export function replicasAnswer(roster: ReplicaRoster): Answer<'Replicas'> {
  const known = roster.replicas();
  const [leader] = known
    .filter((one) => one.isLeader && !roster.isSilent(one))
    .toSorted((a, b) => Date.parse(b.since) - Date.parse(a.since));
  const replicas = known.map((one) => ({ ...one, lastSeen: one.lastSeen.toISOString() }));
  return { leader: leader?.instanceId ?? null, replicas };
}
