// A connected proxy, and the input from which its view was built.
import { hash } from 'node:crypto';
import { SparseMap } from '../base/sparse-map.ts';
import { canBeMatched } from '../policy/build-rules.ts';
import type { DataplaneProxy } from '../policy/dataplane-proxy.ts';
import type { MeshIndex } from '../policy/mesh-index.ts';
import type { Policy } from '../policy/parse-policy.ts';
import { targetRefOf, type TargetRef } from '../policy/target-ref.ts';
import { objectOf, objectsOf } from '../resource/read-json.ts';
import { resourceTypes } from '../resource/type-registry.ts';
import type { ProxyPermit } from '../resource/proxy-permit.ts';
import { isSameClient } from '../xds/client.ts';
import { NO_OUTBOUNDS, type ListedOutbounds, type PlacedOutbound } from '../xds/listed-outbounds.ts';
import { isZoneProxy } from '../xds/zone-ports.ts';
import { sharedFeatures, type ProxyFeatures } from '../xds/proxy-features.ts';
import type { CertificateOrder } from './proxy-certificates.ts';
import { ProxyView, type Certified, type SharedParts } from './proxy-view.ts';

const POLICY_TYPES = resourceTypes.flatMap(({ name, policy }) => (policy === null ? [] : [name]));
/** Of a digest; two proxies of a mesh never have the same by chance. */
const KEY_CHARACTERS = 22;
const NONE: ReadonlySet<Policy> = new Set();

let versions = 0;

/** The own policies of a proxy, before and after. */
export type Rematch = { readonly before: ReadonlySet<Policy>; readonly after: ReadonlySet<Policy> };

export class ConnectedProxy {
  readonly view: ProxyView;
  readonly features: ProxyFeatures;
  readonly permit: ProxyPermit;
  /** Its outbounds, as its view has them. */
  listed: ListedOutbounds = NO_OUTBOUNDS;
  /** The last order that the token permitted. */
  order: CertificateOrder | null = null;
  /** The matched policies that not every proxy has, by type. */
  readonly #own = new SparseMap<string, ReadonlySet<Policy>>();
  #proxy: DataplaneProxy;
  #version: number;
  #opensPorts: boolean;
  #key = '';
  #certified: Certified | null = null;

  constructor(proxy: DataplaneProxy, features: ProxyFeatures, permit: ProxyPermit, shared: SharedParts) {
    this.view = new ProxyView(shared);
    this.features = features;
    this.permit = permit;
    this.#proxy = proxy;
    this.#opensPorts = isZoneProxy(proxy);
    this.#version = versions += 1;
  }

  get proxy(): DataplaneProxy {
    return this.#proxy;
  }

  /** Its Dataplane has changed. `rematch` must follow. */
  changeTo(proxy: DataplaneProxy): void {
    const before = this.#proxy;
    this.#proxy = proxy;
    this.#opensPorts = isZoneProxy(proxy);
    this.#key = '';
    if (!isSameClient(before, proxy)) this.#version = versions += 1;
  }

  /** Whether the token permits this Dataplane. If not, the proxy keeps what it has, and a problem says why. */
  permits({ resource }: DataplaneProxy): boolean {
    const reason = this.permit.refusesDataplane(resource);
    const kept = 'The change does not reach the proxy, which keeps its configuration';
    this.view.setRefusal('dataplane', reason === null ? null : `${reason}. ${kept}`);
    return reason === null;
  }

  /** Names its Dataplane as parts of outbounds may look at it, unique among all proxies. */
  get version(): number {
    return this.#version;
  }

  /** It opens ports of services, as a zone proxy does. */
  get opensPorts(): boolean {
    return this.#opensPorts;
  }

  /** The references of its declared outbounds. */
  get refs(): TargetRef[] {
    return objectsOf(objectOf(this.#proxy.resource.spec['networking'])['outbound']).map(({ backendRef }) =>
      targetRefOf(backendRef),
    );
  }

  /** Null: its configuration is in plain text. */
  get certified(): Certified | null {
    return this.#certified;
  }

  set certified(certified: Certified | null) {
    this.#certified = certified;
    this.#key = this.#keyOf();
  }

  /** Names all that its shared parts depend on, but for the services. */
  get key(): string {
    return this.#key;
  }

  /** Names all that the part of an outbound depends on. */
  keyOf(placed: PlacedOutbound): string {
    return `${this.#key} ${placed.key}`;
  }

  /**
   * Matches the policies again, and keeps those that not every proxy has.
   * @param types null for all
   */
  rematch(index: MeshIndex, types: Iterable<string> | null): Rematch {
    const before = new Set<Policy>();
    const after = new Set<Policy>();
    for (const type of types ?? POLICY_TYPES) {
      for (const policy of this.#own.get(type) ?? NONE) before.add(policy);
      const { selected } = index.matching(type, this.#proxy);
      for (const policy of selected.keys()) after.add(policy);
      if (selected.size === 0) this.#own.delete(type);
      else this.#own.set(type, new Set(selected.keys()));
    }
    if (before.size > 0 || after.size > 0 || this.#key === '') this.#key = this.#keyOf();
    return { before, after };
  }

  #keyOf(): string {
    const serials = [...this.#own.entries.values()].flatMap((policies) => [...policies].map(({ serial }) => serial));
    const text = JSON.stringify([
      ...[serials.sort((a, b) => a - b), sharedFeatures(this.features), this.#proxy.origin],
      ...[canBeMatched(this.#proxy), this.#certified?.identity],
    ]);
    // A proxy looks up hundreds of parts by it.
    return hash('sha256', text, 'base64url').slice(0, KEY_CHARACTERS);
  }
}
