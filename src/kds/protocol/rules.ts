// The rule table: which resources each side sends, how they are rewritten, and which may be stored. Read this first: the sender and
// the receiver are the same for both directions, and all differences between Global and Zone are data in this file.
import { hashNameOf, wireIdentity } from '../../resource/hash-name.ts';
import { label } from '../../resource/labels.ts';
import { belongsToZone, isFromGlobal, isLocal, isOfZone, zoneOf, type OwnedRow } from '../../resource/ownership.ts';
import { policyRole } from '../../resource/policy-role.ts';
import { isListOfGlobal } from '../../resource/revoked-ids.ts';
import { resourceTypes, typeOf, type TypeInfo } from '../../resource/type-registry.ts';
import type { JsonObject, Labels, Mode, Resource, ResourceKey } from '../../resource/types.ts';
import type { WireResource } from '../../resource/codec.ts';
import type { MetaQuery } from '../../store/resource-store.ts';
import { exportSelectorOf, fits, isMember, type ZoneProfile } from '../../resource/zone-profile.ts';
import { feature } from './features.ts';
import { objectOf } from '../../resource/read-json.ts';
import { publicKeySpec, statusForGlobal, withGatewayZone, zoneSpecRewrites } from './spec-rewrites.ts';

/** Conditions of a zone that gets a resource; all must hold. */
export type Audience = {
  /** The zone has the capability. */
  readonly feature?: string | undefined;
  /** The zone is a member of the mesh, and so is the zone from which the resource comes. */
  readonly mesh?: string | undefined;
  /** The condition of the mesh is for zones with this capability alone. */
  readonly among?: string | undefined;
  /** The zone has these labels. */
  readonly exportedTo?: Labels | undefined;
};

/** The peers that may see an entry. `others`: every zone except its origin, and only while the origin zone is enabled. */
export type Visibility =
  | { readonly to: 'none' }
  | (Audience & { readonly to: 'all' })
  | (Audience & { readonly to: 'others'; readonly zone: string });

/** The profile of a zone; that of a zone without a row is `ANY_ZONE`. */
export type ProfileOf = (zone: string) => ZoneProfile;

/** A peer that may get a resource. @property features null while they are unknown: the peer then counts as one that has all */
export type Viewer = {
  readonly zone: string;
  readonly features: ReadonlySet<string> | null;
  readonly profileOf: ProfileOf;
};

export const NO_PEER: Visibility = { to: 'none' };
const ALL: Visibility = { to: 'all' };

/** One rule of kds-wire 5.2 or 5.4. */
type FilterRule = {
  /** The reason, in the words of explain-sync. It cites no document. */
  readonly because: string;
  readonly decide: (resource: Resource, info: TypeInfo) => Visibility | undefined;
};

/** Narrows the decision of the filter to some of the zones. All of these rules apply. */
type AudienceRule = (resource: Resource, info: TypeInfo) => Audience | undefined;

export type SendRules = {
  readonly from: Mode;
  readonly types: readonly TypeInfo[];
  /** The first rule that decides wins. Without one the resource goes to no peer. */
  readonly filter: readonly FilterRule[];
  /** The zones among those of the filter that get the resource. */
  readonly audience: readonly AudienceRule[];
  /** Maps a resource to its wire form, with the hashed name. */
  readonly map: (resource: Resource, info: TypeInfo) => WireResource;
};

const syncDisabled: FilterRule = {
  // kds-wire 5.2.1
  because: 'label kuma.io/kds-sync is disabled',
  decide: ({ labels }) => (labels[label.kdsSync] === 'disabled' ? NO_PEER : undefined),
};

/** Types that never leave a global, even if their labels say otherwise (kds-wire 5.2.3). */
const PRIVATE_GLOBAL_SECRETS = new Set(['envoy-admin-ca', 'admin-user-token', 'inter-cp-ca', 'user-token-revocations']);
const USER_SIGNING_KEY = 'user-token-signing-key';
const ZONE_SIGNING_KEY = 'zone-token-signing-key';
const ZONE_PUBLIC_KEY = 'zone-token-signing-public-key';
const CLUSTER_ID = 'kuma-cluster-id';

const globalToZoneFilter: readonly FilterRule[] = [
  syncDisabled,
  {
    // kds-wire 5.2.2
    because: 'a Config other than kuma-cluster-id belongs to its own control plane',
    decide: ({ name }, info) => (info.name === 'Config' && name !== CLUSTER_ID ? NO_PEER : undefined),
  },
  {
    // kds-wire 5.2.3
    because: 'this GlobalSecret belongs to its own control plane',
    decide: ({ name }, info) =>
      info.name === 'GlobalSecret' && (PRIVATE_GLOBAL_SECRETS.has(name) || name.startsWith(USER_SIGNING_KEY))
        ? NO_PEER
        : undefined,
  },
  {
    // kds-wire 5.2.7
    because: 'only zones that know the meshMultiZoneService selector can read it',
    decide: (resource, info) =>
      info.name === 'HostnameGenerator' && isLocal(resource, 'global') && selectsMultiZoneService(resource.spec)
        ? { to: 'all', feature: feature.hostnameGeneratorMultiZone }
        : undefined,
  },
  {
    // kds-wire 5.2.4
    because: 'written on global',
    decide: (resource, info) => (isLocal(resource, 'global') && info.kds.globalToZone ? ALL : undefined),
  },
  {
    // kds-wire 5.2.5a
    because: 'only producer policies cross zones',
    decide: (resource, info) => {
      if (info.policy === null || isLocal(resource, 'global')) return undefined;
      const isProducer =
        info.policy.to && resource.labels[label.policyRole] === 'producer' && policyRole(resource, 'kuma') === 'producer';
      return isProducer ? { to: 'others', zone: zoneOf(resource), feature: feature.producerPolicyFlow } : NO_PEER;
    },
  },
  {
    // kds-wire 5.2.5b, 5.2.5c
    because: 'comes from a zone and is for the others',
    decide: (resource, info) =>
      !isLocal(resource, 'global') && info.kds.acrossZones ? { to: 'others', zone: zoneOf(resource) } : undefined,
  },
];

const globalToZoneAudience: readonly AudienceRule[] = [
  // A zone gets the resources of its meshes.
  (resource, info) => (info.scope === 'Mesh' && resource.mesh !== '' ? { mesh: resource.mesh } : undefined),
  // It gets its Meshes alone. A zone that cannot keep what it wrote in a Mesh that goes has every Mesh, without its resources.
  (resource, info) => (info.name === 'Mesh' ? { mesh: resource.name, among: feature.membership } : undefined),
  // A service may be for zones with some labels alone.
  (resource) => {
    const exportedTo = exportSelectorOf(resource);
    return exportedTo === undefined ? undefined : { exportedTo };
  },
];

const zoneToGlobalFilter: readonly FilterRule[] = [
  syncDisabled,
  {
    // kds-wire 5.4
    because: 'written in this zone',
    decide: (resource) => (isLocal(resource, 'zone') ? ALL : undefined),
  },
];

/** A MeshTrust holds public certificates, and a proxy of another zone needs them. Kuma leaves them to be copied by hand (xds 6). */
const trustStaysInItsZone: FilterRule = {
  because: 'multizone.global.kds.meshTrustAcrossZones is false',
  decide: (resource, info) => (info.name === 'MeshTrust' && !isLocal(resource, 'global') ? NO_PEER : undefined),
};

export type SendOptions = {
  /** The name of the sending zone; left out on global. */
  readonly zone?: string;
  /** Whether global sends the MeshTrusts of zones to the other zones; true if left out. */
  readonly meshTrustAcrossZones?: boolean;
  /** Labels with these prefixes are not sent (`labels.skipPrefixes`). */
  readonly skipPrefixes?: readonly string[];
};

/** The rules by which global sends to its zones (kds-wire 5.2, 5.3). */
export function globalSendRules({ skipPrefixes = [], meshTrustAcrossZones = true }: SendOptions = {}): SendRules {
  return {
    from: 'global',
    types: zoneConsumes,
    filter: meshTrustAcrossZones ? globalToZoneFilter : [trustStaysInItsZone, ...globalToZoneFilter],
    audience: globalToZoneAudience,
    map(resource, info) {
      const labels = without({ ...resource.labels, [label.origin]: 'global' }, skipPrefixes);
      const status = info.hasStatus ? (JSON.parse(info.zeroStatus) as JsonObject) : undefined;
      if (info.name === 'GlobalSecret' && resource.name.startsWith(ZONE_SIGNING_KEY)) {
        const name = resource.name.replace(ZONE_SIGNING_KEY, ZONE_PUBLIC_KEY);
        labels[label.displayName] ??= resource.name;
        return { name, mesh: '', labels, spec: publicKeySpec(resource), status };
      }
      return { ...wireIdentity(resource, info, labels), spec: resource.spec, status };
    },
  };
}

/** The rules by which a zone sends to global (kds-wire 5.4). */
export function zoneSendRules({ zone = '', skipPrefixes = [] }: SendOptions): SendRules {
  return {
    from: 'zone',
    types: globalConsumes,
    filter: zoneToGlobalFilter,
    audience: [],
    map(resource, info) {
      const labels = {
        ...without(resource.labels, [...skipPrefixes, label.deletionGracePeriodStartedAt]),
        // The name hash includes the zone, and global sets both labels on stored rows.
        ...{ [label.origin]: 'zone', [label.zone]: zone },
      };
      const status = info.hasStatus ? statusForGlobal(resource, info) : undefined;
      const rewrite = zoneSpecRewrites[info.name];
      const spec = rewrite === undefined ? resource.spec : rewrite(resource.spec);
      return { ...wireIdentity(resource, info, labels), spec, status };
    },
  };
}

/** Types that a zone subscribes to on GlobalToZoneSync (kds-wire 3: marked G→Z or X). */
export const zoneConsumes = resourceTypes.filter(({ kds }) => kds.globalToZone || kds.acrossZones);
/** Types that global subscribes to on ZoneToGlobalSync (kds-wire 3: marked Z→G). */
export const globalConsumes = resourceTypes.filter(({ kds }) => kds.zoneToGlobal);

/** The decision of the rules on a resource, with its reason. */
export type Decision = { readonly visibility: Visibility; readonly because: string };

/** Applies the first rule that decides on a resource, and then every rule of the audience: its visibility and the reason. */
export function visibilityOf(rules: SendRules, resource: Resource): Decision {
  const info = typeOf(resource.type);
  for (const rule of rules.filter) {
    const visibility = rule.decide(resource, info);
    if (visibility === undefined) continue;
    if (visibility.to === 'none') return { visibility, because: rule.because };
    const narrowed = rules.audience.reduce((wide, narrow) => ({ ...wide, ...narrow(resource, info) }), visibility);
    return { visibility: narrowed, because: rule.because };
  }
  const isOwn = isLocal(resource, rules.from);
  return { visibility: NO_PEER, because: isOwn ? 'stays where it was written' : 'comes from another control plane' };
}

export function isVisibleTo(visibility: Visibility, viewer: Viewer): boolean {
  if (visibility.to === 'none') return false;
  const { feature } = visibility;
  if (feature !== undefined && viewer.features?.has(feature) === false) return false;
  return hindrance(visibility, viewer) === null;
}

/**
 * The reason why a peer may not see an entry that others may see, in the words of explain-sync; null if only a capability can be
 * missing.
 */
export function reasonHidden(visibility: Exclude<Visibility, { readonly to: 'none' }>, viewer: Viewer): string | null {
  const { zone, profileOf } = viewer;
  const { mesh = '', exportedTo = {} } = visibility;
  const home = visibility.to === 'others' ? visibility.zone : '';
  switch (hindrance(visibility, viewer)) {
    case null:
      return null;
    case 'origin':
      return 'it comes from this zone, which has the original';
    case 'disabled':
      return `zone ${home}, from which it comes, is disabled`;
    case 'strange origin':
      return `zone ${home}, from which it comes, is not a member of mesh ${mesh}`;
    case 'not a member':
      return `the zone is not a member of mesh ${mesh}`;
    case 'not exported': {
      const { labels } = profileOf(zone);
      const missing = Object.entries(exportedTo).filter(([key, value]) => labels[key] !== value);
      const wanted = missing.map(([key, value]) => `${key}: ${value}`).join(', ');
      return `it is exported to zones with the labels ${wanted} alone`;
    }
  }
}

type Hindrance = 'origin' | 'disabled' | 'strange origin' | 'not a member' | 'not exported';

function hindrance(
  visibility: Exclude<Visibility, { readonly to: 'none' }>,
  { zone, features, profileOf }: Viewer,
): Hindrance | null {
  const { mesh, among, exportedTo } = visibility;
  if (visibility.to === 'others') {
    if (visibility.zone === zone) return 'origin';
    const home = profileOf(visibility.zone);
    if (!home.isEnabled) return 'disabled';
    if (mesh !== undefined && !isMember(home, mesh)) return 'strange origin';
  }
  if (mesh === undefined && exportedTo === undefined) return null;
  const own = profileOf(zone);
  const isBound = among === undefined || features?.has(among) !== false;
  if (mesh !== undefined && isBound && !isMember(own, mesh)) return 'not a member';
  return exportedTo !== undefined && !fits(exportedTo, own.labels) ? 'not exported' : null;
}

export function isSameVisibility(a: Visibility, b: Visibility): boolean {
  if (a.to === 'none' || b.to === 'none') return a.to === b.to;
  return (
    a.to === b.to &&
    a.feature === b.feature &&
    a.mesh === b.mesh &&
    a.among === b.among &&
    (a.to !== 'others' || b.to !== 'others' || a.zone === b.zone) &&
    isSameSelector(a.exportedTo, b.exportedTo)
  );
}

function isSameSelector(a: Labels | undefined, b: Labels | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return fits(a, b) && fits(b, a);
}

export type ReceiveRules = {
  readonly by: Mode;
  readonly types: readonly TypeInfo[];
  /** `keep`: the stored status stays, and differences in it are ignored. `take`: the incoming status is stored (kds-wire 6.1). */
  readonly status: 'keep' | 'take';
  /** Maps a wire name to the stored name. A removal uses the same wire name as the resource. */
  readonly storedName: (name: string) => string;
  /** The only name under which a row with these labels may be created; null if any name is allowed. */
  readonly requiredName: (resource: WireResource, info: TypeInfo) => string | null;
  /** The owner of a row that is out of scope, for messages. */
  readonly holderOf: (row: Pick<Resource, 'name' | 'labels' | 'owner'>) => string;
  /** Rewrites an incoming resource before the checks. */
  readonly rewrite: (resource: WireResource, info: TypeInfo) => WireResource;
  /** Whether a stored or incoming row is in scope. The receiver ignores all others (kds-wire 6.1). */
  readonly inScope: (resource: OwnedRow, info: TypeInfo) => boolean;
  /** Whether an incoming resource replaces a row that is not in scope, instead of being refused. The row is never deleted. */
  readonly replaces: (row: Pick<Resource, 'mesh' | 'name'>, info: TypeInfo) => boolean;
  /** The filter that finds every row in scope; null means all rows of the type. */
  readonly scope: Omit<MetaQuery, 'types'> | null;
  readonly ownerOnCreate: ResourceKey | null;
};

/** Types whose rows in a zone all come from global (kds-wire 6.1). */
const ONLY_FROM_GLOBAL = new Set(['Mesh', 'ServiceInsight', 'MeshMultiZoneService']);

/** Rules for the rows that a zone stores from global. */
export function zoneReceiveRules(): ReceiveRules {
  return {
    by: 'zone',
    types: zoneConsumes,
    status: 'keep',
    storedName: (name) => name,
    requiredName: () => null,
    holderOf: () => 'this zone',
    rewrite: (resource) => resource,
    inScope: (row, info) => ONLY_FROM_GLOBAL.has(info.name) || isFromGlobal(row),
    // A zone may have written such a list before it had a global, or by an older release.
    replaces: (row, info) => isListOfGlobal(info, row),
    scope: null,
    ownerOnCreate: null,
  };
}

/** Rules for the rows that global stores from the zone `zone`. The caller decides the origin, never the payload. */
export function globalReceiveRules(zone: string, options: { hashedNames: boolean }): ReceiveRules {
  const owner = { type: 'Zone', mesh: '', name: zone };
  const attribution = { [label.zone]: zone, [label.origin]: 'zone' };
  const storedName = (name: string): string => (options.hashedNames ? name : `${zone}.${name}`);
  return {
    by: 'global',
    types: globalConsumes,
    status: 'take',
    storedName,
    // The prefix or the hash of the labels: no zone can take a name that belongs to global or to another zone.
    requiredName: (resource, info) => (options.hashedNames && !info.kds.skipHash ? hashNameOf(resource) : null),
    holderOf: (row) => (isOfZone(row) ? `zone ${zoneOf(row)}` : 'global'),
    rewrite: (resource, info) => ({
      ...resource,
      name: storedName(resource.name),
      labels: { ...resource.labels, ...attribution },
      spec: info.name === 'Dataplane' ? withGatewayZone(resource.spec, zone) : resource.spec,
    }),
    inScope: (row) => belongsToZone(row, zone),
    replaces: () => false,
    scope: { labels: { [label.zone]: zone }, namePrefix: `${zone}.`, owner },
    ownerOnCreate: owner,
  };
}

function without(labels: Record<string, string>, prefixes: readonly string[]): Record<string, string> {
  if (prefixes.length === 0) return labels;
  return Object.fromEntries(Object.entries(labels).filter(([key]) => !prefixes.some((prefix) => key.startsWith(prefix))));
}

function selectsMultiZoneService(spec: JsonObject): boolean {
  return (objectOf(spec['selector'])['meshMultiZoneService'] ?? null) !== null;
}
