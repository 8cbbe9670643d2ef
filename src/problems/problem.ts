// A problem for people: what is wrong, since when, and what to do. This file has the kinds of problems, with their remedies.
import type { Answer } from '../answers/answers.ts';

export type Problem = Answer<'Problem'>;

/** A kind without a section is explained in the table of alerts. */
type Kind = { readonly remedy: string; readonly section?: string };

const ZONES = 'meridian inspect zones';

/** The remedy of each code, and the section of docs/runbook.md. */
const KINDS = {
  zoneAway: {
    remedy: 'read the log of the zone: it has the reason for each failed connection',
    section: 'a-zone-is-not-connected',
  },
  takeoverLosses: {
    remedy: '`meridian takeover check` lists each resource, and what to write; then zones connect without a restart',
    section: 'no-zone-connects-after-a-takeover',
  },
  zoneRefused: { remedy: 'do what the reason says, then the zone connects by itself', section: 'a-zone-is-not-connected' },
  zoneLagging: {
    remedy: 'look at the load of the zone and of its database; the zone is disconnected after five minutes without an answer',
  },
  zoneContended: { remedy: 'stop all control planes of the zone but one', section: 'two-stores-for-one-zone' },
  peerRefused: {
    remedy: 'stop the second control plane, or accept it by the command that the message names',
    section: 'two-stores-for-one-zone',
  },
  streamsRefused: { remedy: `find out why the zone opens so many streams: ${ZONES}` },
  fullStatesDelayed: {
    remedy: `find out why the connection of the zone does not last, or why it does not say which versions it has: ${ZONES}`,
  },
  resourcesRefused: { remedy: 'correct the resource where it was written', section: 'a-resource-is-refused-or-withheld' },
  resourcesSuspected: {
    remedy: 'wait a moment: halves are sent until the culprit is found',
    section: 'a-resource-is-refused-or-withheld',
  },
  resourcesWithheld: { remedy: 'write the resource in a form that the zone reads', section: 'a-resource-is-refused-or-withheld' },
  notAMember: {
    remedy: 'add the mesh to `meshes` of the Zone, or delete the resources in the zone',
    section: 'a-zone-is-not-a-member-of-a-mesh',
  },
  zoneTokenEnds: { remedy: 'put a new token into the file of the zone; no restart', section: 'a-zone-is-not-connected' },
  certificateEnds: {
    remedy: 'replace the files of the certificate and its key; they are used within seconds',
    section: 'rotate-a-certificate',
  },
  meshPlaintext: {
    remedy: 'meridian inspect meshes names the services and the reasons',
  },
  identityNotReady: {
    remedy: 'do what the message says, in the zone of the MeshIdentity: meridian inspect identity NAME',
  },
  partsIdle: {
    remedy: 'write what the field names, or correct the field: meridian edit TYPE NAME --mesh MESH',
  },
  prefixesWide: {
    remedy: 'do what the message says, or leave it if the policy is for these clients too: meridian edit TYPE NAME --mesh MESH',
  },
  proxyRefuses: {
    remedy: 'correct the policies that the message names, or those that `meridian inspect dataplane NAME --mesh MESH` names',
  },
  proxyLacks: {
    remedy: 'correct the field that the message names; `meridian inspect dataplane NAME --mesh MESH` shows the rest',
  },
  tokenLacksRight: {
    remedy: 'give the proxy the token that the message names, or take the change of its Dataplane back',
    section: 'a-proxy-is-not-connected',
  },
  proxyNotAdmitted: {
    remedy: 'do what the reason says: the proxy tries again by itself',
    section: 'a-proxy-is-not-connected',
  },
  serviceDown: {
    remedy: 'start the servers and their Envoys: meridian inspect service NAME --mesh MESH',
  },
  serviceUnreachable: {
    remedy: 'mend the part that the message names: meridian inspect service NAME --mesh MESH',
  },
  zoneProxyAway: {
    remedy: 'start its Envoy, or delete its Dataplane: meridian inspect dataplanes --mesh MESH',
    section: 'a-proxy-is-not-connected',
  },
  applicationSilent: {
    remedy:
      'start the application, or correct the inbound: meridian inspect dataplane NAME --mesh MESH; see «Health» of docs/proxies.md to probe it otherwise',
  },
  authorityEnds: {
    remedy:
      'meridian identity rotate NAME --mesh MESH, in its zone; for a trust domain of others, add their new authority to the MeshTrust',
    section: 'rotate-a-certificate',
  },
  versionSkew: { remedy: 'continue the upgrade' },
  noLeader: {
    remedy: 'look whether the replicas reach the primary of their database, without a pooler between',
    section: 'the-database-does-not-answer',
  },
  twoLeaders: { remedy: 'connect all replicas to the primary of one database' },
  replicaAway: { remedy: 'start it again, or ignore it if it was removed on purpose' },
} satisfies Record<string, Kind>;

export type ProblemCode = keyof typeof KINDS;
export const problemCodes = Object.keys(KINDS) as readonly ProblemCode[];

type About = Omit<Problem, 'id' | 'code' | 'remedy' | 'runbook'>;

/** @param subject distinguishes it from other problems of its code */
export function problemOf(code: ProblemCode, subject: readonly string[], about: About): Problem {
  const { remedy, section = 'what-to-do-when-an-alert-fires' }: Kind = KINDS[code];
  return { id: [code, ...subject].join('/'), code, ...about, remedy, runbook: `docs/runbook.md#${section}` };
}
