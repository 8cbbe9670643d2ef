// A table of all resource types: scope, KDS directions, codec, status, paths (kds-wire 3).

/** `proto`: the spec is a protobuf message; `json`: the spec is JSON with an empty type_url (kds-wire 1). */
type Codec = { readonly kind: 'proto'; readonly message: string } | { readonly kind: 'json' };

/** The side whose REST API may write a type (rest-api 2.1); `none` means that only control planes write it. */
type Writers = 'both' | 'global' | 'zone' | 'none';

export type TypeInfo = {
  readonly name: string;
  /** The last segment of the REST path; `''` when the type has none. */
  readonly path: string;
  readonly aliases: readonly string[];
  readonly singular: string;
  readonly plural: string;
  /** The KRI short name; null where the type has none. */
  readonly shortName: string | null;
  readonly scope: 'Global' | 'Mesh';
  readonly codec: Codec;
  readonly kds: {
    readonly globalToZone: boolean;
    readonly zoneToGlobal: boolean;
    /** Whether global sends the resources of a zone on to the other zones («X»). */
    readonly acrossZones: boolean;
    /** Whether it is sent under its own name (kds-wire 3, «no hash»). */
    readonly skipHash: boolean;
  };
  readonly hasStatus: boolean;
  /** The replacement of a status that a sender strips (kds-wire 3). */
  readonly zeroStatus: string;
  readonly writers: Writers;
  readonly adminOnly: boolean;
  readonly isInsight: boolean;
  /** Whether Kuma has no such type. */
  readonly isOwn: boolean;
  /** Whether the name must be an RFC 1035 label (kds-wire 6.2). */
  readonly labelName: boolean;
  /** It is null for other types than policies. `order` is the order in which plugins apply. */
  readonly policy: { readonly to: boolean; readonly rules: boolean; readonly order: number } | null;
};

/** The types that stand for a service. */
export const SERVICE_TYPES = ['MeshService', 'MeshExternalService', 'MeshMultiZoneService'] as const;

export function isServiceType(type: string): boolean {
  return SERVICE_TYPES.some((service) => service === type);
}

/** A direction in which a type goes. `acrossZones` is for the resources of a zone that global sends on to the other zones. */
type Direction = 'globalToZone' | 'zoneToGlobal' | 'acrossZones';

type Row = {
  path?: string;
  aliases?: string[];
  short?: string;
  scope?: 'Global' | 'Mesh';
  proto?: string;
  kds?: readonly Direction[];
  skipHash?: boolean;
  status?: string;
  writers: Writers;
  admin?: boolean;
  insight?: boolean;
  own?: boolean;
  labelName?: boolean;
};

const MESH = 'kuma.mesh.v1alpha1.';
const SYSTEM = 'kuma.system.v1alpha1.';

const CORE: Record<string, Row> = {
  Mesh: {
    path: 'meshes',
    short: 'm',
    scope: 'Global',
    proto: `${MESH}Mesh`,
    kds: ['globalToZone'],
    skipHash: true,
    writers: 'global',
    labelName: true,
  },
  Dataplane: { path: 'dataplanes', short: 'dp', proto: `${MESH}Dataplane`, kds: ['zoneToGlobal'], writers: 'zone' },
  DataplaneInsight: {
    path: 'dataplane-insights',
    proto: `${MESH}DataplaneInsight`,
    kds: ['zoneToGlobal'],
    writers: 'none',
    insight: true,
  },
  MeshInsight: { path: 'mesh-insights', scope: 'Global', proto: `${MESH}MeshInsight`, writers: 'none', insight: true },
  ServiceInsight: {
    path: 'service-insights',
    proto: `${MESH}ServiceInsight`,
    kds: ['globalToZone'],
    writers: 'none',
    insight: true,
  },
  Config: { scope: 'Global', proto: `${SYSTEM}Config`, kds: ['globalToZone'], skipHash: true, writers: 'none' },
  Secret: { path: 'secrets', proto: `${SYSTEM}Secret`, kds: ['globalToZone'], skipHash: true, writers: 'both', admin: true },
  GlobalSecret: {
    path: 'globalsecrets',
    aliases: ['global-secrets'],
    scope: 'Global',
    proto: `${SYSTEM}Secret`,
    kds: ['globalToZone'],
    skipHash: true,
    writers: 'both',
    admin: true,
  },
  Zone: { path: 'zones', short: 'z', scope: 'Global', proto: `${SYSTEM}Zone`, writers: 'both', labelName: true },
  ZoneInsight: { path: 'zone-insights', scope: 'Global', proto: `${SYSTEM}ZoneInsight`, writers: 'none', insight: true },
  HostnameGenerator: {
    path: 'hostnamegenerators',
    short: 'hg',
    scope: 'Global',
    kds: ['globalToZone', 'zoneToGlobal'],
    writers: 'both',
  },
  MeshService: {
    path: 'meshservices',
    short: 'msvc',
    kds: ['zoneToGlobal', 'acrossZones'],
    status: '{"tls":{},"dataplaneProxies":{}}',
    writers: 'zone',
    labelName: true,
  },
  MeshMultiZoneService: {
    path: 'meshmultizoneservices',
    short: 'mzsvc',
    kds: ['globalToZone'],
    status: '{}',
    writers: 'global',
    labelName: true,
  },
  MeshExternalService: {
    path: 'meshexternalservices',
    short: 'extsvc',
    kds: ['globalToZone', 'zoneToGlobal'],
    status: '{"vip":{}}',
    writers: 'both',
    labelName: true,
  },
  MeshIdentity: { path: 'meshidentities', short: 'mid', kds: ['globalToZone', 'zoneToGlobal'], status: '{}', writers: 'both' },
  MeshTrust: {
    path: 'meshtrusts',
    short: 'mtrust',
    kds: ['globalToZone', 'zoneToGlobal', 'acrossZones'],
    status: '{}',
    writers: 'both',
  },
  MeshOpenTelemetryBackend: {
    path: 'meshopentelemetrybackends',
    short: 'motb',
    kds: ['globalToZone', 'zoneToGlobal'],
    status: '{}',
    writers: 'both',
  },
  MeshZoneAddress: { path: 'meshzoneaddresses', short: 'mza', kds: ['zoneToGlobal', 'acrossZones'], writers: 'zone' },
  Workload: {
    path: 'workloads',
    short: 'wl',
    kds: ['zoneToGlobal'],
    status: '{"dataplaneProxies":{"connected":0,"healthy":0,"total":0}}',
    writers: 'zone',
  },
  // The rows hold Gateway API documents, and stay where they were written; the mesh routes made of them are synced (D24).
  HTTPRoute: { path: 'httproutes', status: '{}', writers: 'both', own: true },
  TCPRoute: { path: 'tcproutes', status: '{}', writers: 'both', own: true },
};

type PolicyRow = {
  readonly path: string;
  readonly short: string;
  /** The sections that its spec may have, beside `targetRef`. */
  readonly sections: readonly ('to' | 'rules')[];
  readonly hasStatus?: true;
  /** The place in the order of plugins. */
  readonly order: number;
};

const POLICIES: Readonly<Record<string, PolicyRow>> = {
  MeshHTTPRoute: { path: 'meshhttproutes', short: 'mhttpr', sections: ['to'], order: 100 },
  MeshTCPRoute: { path: 'meshtcproutes', short: 'mtcpr', sections: ['to'], order: 200 },
  MeshTLS: { path: 'meshtlses', short: 'mtls', sections: ['rules'], order: 300 },
  MeshLoadBalancingStrategy: { path: 'meshloadbalancingstrategies', short: 'mlbs', sections: ['to'], order: 400 },
  MeshPassthrough: { path: 'meshpassthroughs', short: 'mp', sections: [], order: 500 },
  MeshAccessLog: { path: 'meshaccesslogs', short: 'mal', sections: ['to', 'rules'], hasStatus: true, order: 600 },
  MeshTrace: { path: 'meshtraces', short: 'mtr', sections: [], hasStatus: true, order: 700 },
  MeshFaultInjection: { path: 'meshfaultinjections', short: 'mfi', sections: ['to', 'rules'], order: 800 },
  MeshRateLimit: { path: 'meshratelimits', short: 'mrl', sections: ['to', 'rules'], order: 900 },
  MeshTimeout: { path: 'meshtimeouts', short: 'mt', sections: ['to', 'rules'], order: 1000 },
  MeshTrafficPermission: { path: 'meshtrafficpermissions', short: 'mtp', sections: ['rules'], order: 1100 },
  MeshHealthCheck: { path: 'meshhealthchecks', short: 'mhc', sections: ['to'], order: 1200 },
  MeshCircuitBreaker: { path: 'meshcircuitbreakers', short: 'mcb', sections: ['to', 'rules'], order: 1300 },
  MeshRetry: { path: 'meshretries', short: 'mr', sections: ['to'], order: 1400 },
  MeshMetric: { path: 'meshmetrics', short: 'mm', sections: [], hasStatus: true, order: 1500 },
  MeshProxyPatch: { path: 'meshproxypatches', short: 'mpp', sections: [], order: 9999 },
};

/** All types, in the order of kds-wire 3: core types, then policies by plugin order. */
export const resourceTypes: readonly TypeInfo[] = [
  ...Object.entries(CORE).map(([name, row]) => coreType(name, row)),
  ...Object.entries(POLICIES).map(([name, row]) => policyType(name, row)),
];

const byName = new Map(resourceTypes.map((info) => [info.name, info]));
const byAnyName = new Map<string, TypeInfo>();
for (const info of resourceTypes) {
  const spellings = [info.name, info.singular.replaceAll(' ', '-'), info.path, ...info.aliases, info.shortName ?? ''];
  for (const spelling of spellings) if (spelling !== '') byAnyName.set(spelling.toLowerCase(), info);
}

const namesOf = new WeakMap<readonly TypeInfo[], ReadonlyMap<string, TypeInfo>>();

/** A list of types by name: one map for each list. */
export function typesByName(types: readonly TypeInfo[]): ReadonlyMap<string, TypeInfo> {
  const known = namesOf.get(types) ?? new Map(types.map((info) => [info.name, info]));
  namesOf.set(types, known);
  return known;
}

/** The type of exactly this name, or undefined. */
export function findType(name: string): TypeInfo | undefined {
  return byName.get(name);
}

/**
 * The type of exactly this name.
 * @throws Error when there is none: callers pass names that they have checked
 */
export function typeOf(name: string): TypeInfo {
  const info = byName.get(name);
  if (info === undefined) throw new Error(`unknown resource type ${JSON.stringify(name)}`);
  return info;
}

/** The type by its name with or without hyphens, REST path, alias or short name, in any case. */
export function findTypeByAnyName(text: string): TypeInfo | undefined {
  return byAnyName.get(text.toLowerCase());
}

function coreType(name: string, row: Row): TypeInfo {
  const kds = new Set(row.kds);
  const singular = words(name);
  return {
    name,
    path: row.path ?? '',
    aliases: row.aliases ?? [],
    singular,
    plural: pluralOf(singular),
    shortName: row.short ?? null,
    scope: row.scope ?? 'Mesh',
    codec: row.proto === undefined ? { kind: 'json' } : { kind: 'proto', message: row.proto },
    kds: {
      globalToZone: kds.has('globalToZone'),
      zoneToGlobal: kds.has('zoneToGlobal'),
      acrossZones: kds.has('acrossZones'),
      skipHash: row.skipHash ?? false,
    },
    hasStatus: row.status !== undefined,
    zeroStatus: row.status ?? '{}',
    writers: row.writers,
    adminOnly: row.admin ?? false,
    isInsight: row.insight ?? false,
    isOwn: row.own ?? false,
    labelName: row.labelName ?? false,
    policy: null,
  };
}

function policyType(name: string, { path, short, sections, hasStatus, order }: PolicyRow): TypeInfo {
  const kds: readonly Direction[] = ['globalToZone', 'zoneToGlobal', 'acrossZones'];
  const core = coreType(name, { path, short, kds, writers: 'both', ...(hasStatus === true && { status: '{}' }) });
  return { ...core, policy: { to: sections.includes('to'), rules: sections.includes('rules'), order } };
}

/** `Mesh Retry` → `Mesh Retries`, `Mesh TLS` → `Mesh TLSes`. */
function pluralOf(singular: string): string {
  if (singular.endsWith('y')) return `${singular.slice(0, -1)}ies`;
  return /(s|ch|sh)$/i.test(singular) ? `${singular}es` : `${singular}s`;
}

/** `MeshHTTPRoute` → `Mesh HTTP Route`. */
function words(name: string): string {
  return name
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .replace(/(?<![A-Z])([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .replace('Open Telemetry', 'OpenTelemetry');
}
