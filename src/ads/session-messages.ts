// The input and output of a session: the resources of a view, and the requests and responses of a proxy (xds 4).

/** In the order in which they are made: a resource leads to those of the types before it. */
export const XDS_TYPES = [
  'Secret',
  'Cluster',
  'ClusterLoadAssignment',
  'Listener',
  'TypedExtensionConfig',
  'RouteConfiguration',
] as const;
export type XdsType = (typeof XDS_TYPES)[number];
/** The place of each type among them. */
export const XDS_ORDER = Object.fromEntries(XDS_TYPES.map((type, index) => [type, index])) as Readonly<Record<XdsType, number>>;

/** A resource as it is sent, shared by all proxies that get the same. */
export type XdsResource = {
  readonly name: string;
  /** The name by which policies, dumps and statistics know a listener; left out where it is `name`. */
  readonly knownAs?: string;
  /** A hash of the content: the same after a restart of the control plane. */
  readonly version: string;
  /** The encoded `Resource` of a response. */
  readonly bytes: Uint8Array;
  /** Of a listener that others connect to: it stays open for a while after it has gone from the view, until they have another address. */
  readonly isLasting?: boolean;
  /** Of a cluster whose assignment has another name: that name. */
  readonly assignment?: string;
};

/** All resources of a proxy. */
export type XdsView = {
  readonly get: (type: XdsType, name: string) => XdsResource | undefined;
  readonly names: (type: XdsType) => Iterable<string>;
  /** Whether others still use a resource that is gone from the view. */
  readonly isKept?: (type: XdsType, name: string) => boolean;
};

/** Names of a view whose resource differs, with the version that it had; `''` where it had none. */
export type ChangedVersions = ReadonlyMap<XdsType, ReadonlyMap<string, string>>;

export type XdsRequest = {
  readonly type: XdsType;
  readonly subscribe: readonly string[];
  readonly unsubscribe: readonly string[];
  /** Of the first request of a type on a stream: what the proxy holds from before. */
  readonly initialVersions: ReadonlyMap<string, string>;
  /** Of the response that this one answers; `''` where it answers none. */
  readonly nonce: string;
  /** Why the response was refused, as `boundedReason` gives it; null for an acceptance. */
  readonly error: string | null;
};

export type XdsResponse = {
  readonly type: XdsType;
  readonly nonce: string;
  readonly resources: readonly XdsResource[];
  readonly removed: readonly string[];
};

/** A resource that the proxy refused, at the version that it refused. */
export type XdsRefusal = {
  readonly type: XdsType;
  readonly name: string;
  /** As that of the resource. */
  readonly knownAs?: string;
  readonly version: string;
  readonly reason: string;
};

/** The answer of a proxy to a response. */
export type XdsAnswer = {
  readonly nonce: string;
  /** Null: it accepts all of it. */
  readonly refusals: readonly XdsRefusal[] | null;
};
