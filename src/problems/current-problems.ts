// The present problems of a control plane: those of zones from their rows, those of processes, certificates and meshes from other
// sources. They serve `/_problems` and the topic of events. Invariant: each kind is computed in one place.
import { peerConflicts } from '../api/peer-conflicts.ts';
import type { ApiOptions } from '../api/api-options.ts';
import type { Clock } from '../base/clock.ts';
import { runInSlices } from '../base/steps.ts';
import { compareText } from '../base/compare-text.ts';
import type { ExpiryMetrics } from '../base/expiry-metrics.ts';
import { servicesWithoutEndpoints, unreachableWays } from '../inspect/unreachable-services.ts';
import { zonesNow } from '../inspect/zones-now.ts';
import type { RefusedProxy } from '../token/refused-proxies.ts';
import type { ReplicaRoster } from '../replicas/replica-roster.ts';
import type { MeshIndex } from '../policy/mesh-index.ts';
import { displayNameOf } from '../resource/labels.ts';
import { homeZoneOf } from '../resource/ownership.ts';
import { takesPlaintext } from '../resource/plaintext-service.ts';
import type { Resource } from '../resource/types.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import type { ProxyInsights } from '../zone-status/proxy-insights.ts';
import { peerVersionOf } from '../zone-status/peer-version.ts';
import type { LagOf } from '../zone-status/zone-sync.ts';
import { admissionProblems } from './admission-problems.ts';
import { applicationProblems } from './application-problems.ts';
import { authorityProblems } from './authority-problems.ts';
import { idleProblems } from './idle-problems.ts';
import { problemOf, type Problem } from './problem.ts';
import { proxyProblemsOfZone } from './proxy-problems.ts';
import { serviceProblems } from './service-problems.ts';
import { unreachableProblem } from './unreachable-problem.ts';
import { unprobedHints, type Hint } from './unprobed-hints.ts';
import { zoneProxyProblems } from './zone-proxy-problems.ts';
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

/**
 * The problems of meshes are kept this many times as long as it took to read them, within these limits in milliseconds: a mesh
 * may have thousands of services.
 */
const KEEP = { times: 10, least: 1_000, most: 15_000 };
/** Milliseconds of work before other work runs. */
const SLICE_MS = 10;

export type ProblemSources = Pick<ApiOptions, 'mode' | 'zone' | 'instanceId' | 'productVersion'> & {
  readonly store: ResourceStore;
  readonly lagOf: LagOf;
  readonly roster: ReplicaRoster;
  readonly ends: ExpiryMetrics['ends'];
  /** The number of resources that other zones do not get, because their zone is no member of the mesh, by zone and mesh. */
  readonly notForwarded: () => ReadonlyMap<string, ReadonlyMap<string, number>>;
  /** The kinds of losses for which this global lets no zone connect after a takeover. */
  readonly takeoverLosses: () => readonly string[];
  /** The proxies that this process did not let in lately. */
  readonly refusedProxies: () => readonly RefusedProxy[];
  readonly clock: Clock;
  readonly insights: Pick<ProxyInsights, 'of' | 'withProblems'>;
  /** The indexes of the meshes that the proxies of a zone are in. */
  readonly indexes: { readonly known: () => readonly MeshIndex[] };
};

type OfMeshes = { until: number; readonly problems: Promise<readonly Problem[]> };

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

  /** The facts of a zone that are no problem and should be known. */
  async hints(): Promise<readonly Hint[]> {
    const { zone, indexes, clock } = this.#sources;
    return zone === null ? [] : await runInSlices(unprobedHints(indexes.known(), zone), SLICE_MS, clock);
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
    const { clock } = this.#sources;
    const begun = clock.elapsed();
    if (this.#ofMeshes !== null && begun < this.#ofMeshes.until) return await this.#ofMeshes.problems;
    const reading = { until: Infinity, problems: this.#readMeshProblems() };
    this.#ofMeshes = reading;
    const keep = (): void => {
      const now = clock.elapsed();
      reading.until = now + Math.min(KEEP.most, Math.max(KEEP.least, (now - begun) * KEEP.times));
    };
    const forget = (): void => void (this.#ofMeshes = this.#ofMeshes === reading ? null : this.#ofMeshes);
    reading.problems.then(keep, forget);
    return await reading.problems;
  }

  async #readMeshProblems(): Promise<readonly Problem[]> {
    const { store, insights, zone, clock } = this.#sources;
    const services = await store.list({ type: 'MeshService' });
    const identities = await store.list({ type: 'MeshIdentity' });
    return [
      ...identityProblems(identities),
      ...(await idleProblems(store, clock)),
      ...(await applicationProblems(store)),
      ...authorityProblems(await store.list({ type: 'MeshTrust' }), clock.now()),
      ...plaintextProblems(this.#plaintextServices(identities, services)),
      ...serviceProblems(services, zone),
      ...(await zoneProxyProblems({ store, insights, zone })),
      ...(zone === null ? [] : await this.#ofProxies(zone)),
    ];
  }

  /** The problems of proxies that only their zone knows. */
  async #ofProxies(zone: string): Promise<Problem[]> {
    const { store, insights, indexes, instanceId, clock } = this.#sources;
    const problems = await proxyProblemsOfZone(insights, zone);
    problems.push(...(await admissionProblems(this.#sources.refusedProxies(), { store, zone, instanceId })));
    for (const index of indexes.known()) {
      const services = await runInSlices(servicesWithoutEndpoints(index, zone), SLICE_MS, clock);
      const ways = await unreachableWays(index, services, { insights, zone });
      problems.push(...ways.map(unreachableProblem));
    }
    return problems;
  }

  /** The display names of services that take plain text, by mesh with a MeshIdentity; a zone names its own services. */
  #plaintextServices(identities: readonly Resource[], services: readonly Resource[]): ReadonlyMap<string, readonly string[]> {
    const { zone } = this.#sources;
    const byMesh = Map.groupBy(services, ({ mesh }) => mesh);
    const meshes = [...new Set(identities.map((one) => one.mesh))].toSorted(compareText);
    const found = meshes.map((mesh): [string, readonly string[]] => {
      const own = (byMesh.get(mesh) ?? []).filter((service) => zone === null || homeZoneOf(service, zone) === zone);
      return [mesh, own.filter(takesPlaintext).map(displayNameOf)];
    });
    return new Map(found);
  }
}
