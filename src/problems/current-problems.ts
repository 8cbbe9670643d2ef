// The present problems of a control plane: those of zones from their rows, those of processes, certificates and meshes from other sources. For `/_problems` and for the topic of events. Invariant: each kind is computed in one place.
import { peerConflicts } from '../api/peer-conflicts.ts';
import type { ApiOptions } from '../api/api-options.ts';
import type { Clock } from '../base/clock.ts';
import { compareText } from '../base/compare-text.ts';
import type { ExpiryMetrics } from '../base/expiry-metrics.ts';
import { zonesNow } from '../inspect/zones-now.ts';
import type { ReplicaRoster } from '../replicas/replica-roster.ts';
import { displayNameOf } from '../resource/labels.ts';
import { homeZoneOf } from '../resource/ownership.ts';
import { takesPlaintext } from '../resource/plaintext-service.ts';
import type { Resource } from '../resource/types.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import { peerVersionOf } from '../zone-status/peer-version.ts';
import type { LagOf } from '../zone-status/zone-sync.ts';
import { authorityProblems } from './authority-problems.ts';
import { idleProblems } from './idle-problems.ts';
import { problemOf, type Problem } from './problem.ts';
import {
  certificateProblems,
  identityProblems,
  membershipProblems,
  plaintextProblems,
  replicaProblems,
  takeoverProblems,
  versionProblems,
} from './process-problems.ts';
import { zoneProblems, zoneTokenProblem, type ZoneUnderTest } from './zone-problems.ts';

/** Milliseconds for which the problems of meshes are kept: a mesh may have thousands of services. */
const KEEP_MS = 15_000;

export type ProblemSources = Pick<ApiOptions, 'mode' | 'zone' | 'instanceId' | 'productVersion'> & {
  readonly store: ResourceStore;
  readonly lagOf: LagOf;
  readonly roster: ReplicaRoster;
  readonly ends: ExpiryMetrics['ends'];
  /** Zone → mesh → how many of its resources other zones do not get, because the zone is no member of the mesh. */
  readonly notForwarded: () => ReadonlyMap<string, ReadonlyMap<string, number>>;
  /** The kinds of losses for which this global lets no zone connect after a takeover. */
  readonly takeoverLosses: () => readonly string[];
  readonly clock: Clock;
};

type OfMeshes = { readonly until: number; readonly problems: Promise<readonly Problem[]> };

export class CurrentProblems {
  readonly #sources: ProblemSources;
  readonly #startedAt: Date;
  #ofMeshes: OfMeshes | null = null;

  constructor(sources: ProblemSources) {
    this.#sources = sources;
    this.#startedAt = sources.clock.now();
  }

  /** All problems, by id. Rejects when the store does not answer. */
  async all(): Promise<Problem[]> {
    const { store, lagOf, clock } = this.#sources;
    const zones = await zonesNow(store, lagOf, clock);
    const found = [...zones.flatMap((zone) => this.ofZone(zone)), ...(await this.besides(zones))];
    return [...new Map(found.map((one) => [one.id, one])).values()].sort((a, b) => compareText(a.id, b.id));
  }

  /** The problems that the rows of a zone show. */
  ofZone(zone: ZoneUnderTest): Problem[] {
    return zoneProblems(zone, this.#sources.clock.now());
  }

  /** The problems that the rows of zones do not show. Rejects when the store does not answer. */
  async besides(zones: readonly ZoneUnderTest[]): Promise<Problem[]> {
    const { instanceId, ends, clock } = this.#sources;
    const now = clock.now();
    const [{ certificates, tokens }, refused, ofMeshes] = await Promise.all([
      ends(),
      this.#refusedPeers(zones),
      this.#meshProblems(),
    ]);
    return [
      ...this.#ofReplicas(now),
      ...certificateProblems(certificates, instanceId, now),
      ...[...tokens].flatMap(([zone, end]) => zoneTokenProblem(zone, end, now)),
      ...versionProblems(this.#versions(zones)),
      ...takeoverProblems(this.#sources.takeoverLosses(), instanceId),
      ...membershipProblems(this.#sources.notForwarded()),
      ...ofMeshes,
      ...refused,
    ];
  }

  #ofReplicas(now: Date): Problem[] {
    const { roster } = this.#sources;
    const replicas = roster.replicas().map((replica) => ({ ...replica, isSilent: roster.isSilent(replica) }));
    return replicaProblems(replicas, this.#startedAt, now);
  }

  /** The version of each replica, and on global of each connected zone; Kuma zones have versions of their own. */
  #versions(zones: readonly ZoneUnderTest[]): Map<string, string> {
    const { roster, mode, instanceId, productVersion } = this.#sources;
    const versions = new Map([[`replica ${instanceId}`, productVersion]]);
    for (const one of roster.replicas()) if (!roster.isSilent(one)) versions.set(`replica ${one.instanceId}`, one.version);
    if (mode === 'zone') return versions;
    for (const { name, insight, sync } of zones) {
      const peer = peerVersionOf(insight.spec);
      if (peer?.isOwn === true && ['online', 'lagging'].includes(sync.connection)) versions.set(`zone ${name}`, peer.version);
    }
    return versions;
  }

  async #refusedPeers(zones: readonly ZoneUnderTest[]): Promise<Problem[]> {
    const { store, clock, mode, zone } = this.#sources;
    const found = await peerConflicts(zones, { options: { mode, zone }, store, clock });
    return [...found].map(([name, message]) => problemOf('peerRefused', [name], { zone: name, since: null, message }));
  }

  async #meshProblems(): Promise<readonly Problem[]> {
    const now = this.#sources.clock.elapsed();
    if (this.#ofMeshes === null || now >= this.#ofMeshes.until) {
      const problems = this.#readMeshProblems();
      this.#ofMeshes = { until: now + KEEP_MS, problems };
      problems.catch(() => (this.#ofMeshes = null));
    }
    return await this.#ofMeshes.problems;
  }

  async #readMeshProblems(): Promise<readonly Problem[]> {
    const { store, clock } = this.#sources;
    const identities = await store.list({ type: 'MeshIdentity' });
    return [
      ...identityProblems(identities),
      ...(await idleProblems(store, clock)),
      ...authorityProblems(await store.list({ type: 'MeshTrust' }), clock.now()),
      ...plaintextProblems(await this.#plaintextServices(identities)),
    ];
  }

  /** Mesh with a MeshIdentity → display names of services that take plain text; in a zone of its own services. */
  async #plaintextServices(identities: readonly Resource[]): Promise<ReadonlyMap<string, readonly string[]>> {
    const { store, zone } = this.#sources;
    const found = new Map<string, string[]>();
    for (const mesh of [...new Set(identities.map((one) => one.mesh))].toSorted(compareText)) {
      const services = await store.list({ type: 'MeshService', mesh });
      const own = services.filter((service) => zone === null || homeZoneOf(service, zone) === zone);
      found.set(mesh, own.filter(takesPlaintext).map(displayNameOf));
    }
    return found;
  }
}
