// A table of all resource types: scope, KDS directions, codec, status, paths (kds-wire 3).

/** `proto`: the spec is a protobuf message; `json`: the spec is JSON with an empty type_url (kds-wire 1). */
export type Codec = { readonly kind: 'proto'; readonly message: string } | { readonly kind: 'json' };

/** The side whose REST API may write a type (rest-api 2.1); `none` = only control planes write it. */
export type Writers = 'both' | 'global' | 'zone' | 'none';

export type TypeInfo = {
  readonly name: string;
  /** Last segment of the REST path, `''` when the type has none. */
  readonly path: string;
  readonly aliases: readonly string[];
  readonly singular: string;
  readonly plural: string;
  /** KRI short name, null where the type has none. */
  readonly shortName: string | null;
  readonly scope: 'Global' | 'Mesh';
  readonly codec: Codec;
  readonly kds: {
    readonly globalToZone: boolean;
    readonly zoneToGlobal: boolean;
    /** A zone's resource that global sends on to the other zones («X»). */
    readonly acrossZones: boolean;
    /** Sent under its own name (kds-wire 3, «no hash»). */
    readonly skipHash: boolean;
  };
  readonly hasStatus: boolean;
  /** The replacement of a status that a sender strips (kds-wire 3). */
  readonly zeroStatus: string;
  readonly writers: Writers;
  readonly adminOnly: boolean;
  readonly isInsight: boolean;
  /** Kuma has no such type. */
  readonly isOwn: boolean;
  /** The name must be an RFC 1035 label (kds-wire 6.2). */
  readonly labelName: boolean;
  /** Null for other types than policies; `order` is the order in which plugins apply. */
  readonly policy: { readonly to: boolean; readonly rules: boolean; readonly order: number } | null;
};

/** The types that stand for a service. */
export const SERVICE_TYPES = ['MeshService', 'MeshExternalService', 'MeshMultiZoneService'] as const;

export function isServiceType(type: string): boolean {
  return SERVICE_TYPES.some((service) => service === type);
}

type Row = {
  path?: string;
  aliases?: string[];
  short?: string;
  scope?: 'Global' | 'Mesh';
  proto?: string;
  kds?: string;
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

// kds: G = global to zone, Z = zone to global, X = across zones.
const CORE: Record<string, Row> = {
  Mesh: {
    path: 'meshes',
    short: 'm',
    scope: 'Global',
    proto: `${MESH}Mesh`,
    kds: 'G',
    skipHash: true,
    writers: 'global',
    labelName: true,
  },
  Dataplane: { path: 'dataplanes', short: 'dp', proto: `${MESH}Dataplane`, kds: 'Z', writers: 'zone' },
  DataplaneInsight: { path: 'dataplane-insights', proto: `${MESH}DataplaneInsight`, kds: 'Z', writers: 'none', insight: true },
  MeshInsight: { path: 'mesh-insights', scope: 'Global', proto: `${MESH}MeshInsight`, writers: 'none', insight: true },
  ServiceInsight: { path: 'service-insights', proto: `${MESH}ServiceInsight`, kds: 'G', writers: 'none', insight: true },
  Config: { scope: 'Global', proto: `${SYSTEM}Config`, kds: 'G', skipHash: true, writers: 'none' },
  Secret: { path: 'secrets', proto: `${SYSTEM}Secret`, kds: 'G', skipHash: true, writers: 'both', admin: true },
  GlobalSecret: {
    path: 'globalsecrets',
    aliases: ['global-secrets'],
    scope: 'Global',
    proto: `${SYSTEM}Secret`,
    kds: 'G',
    skipHash: true,
    writers: 'both',
    admin: true,
  },
  Zone: { path: 'zones', short: 'z', scope: 'Global', proto: `${SYSTEM}Zone`, writers: 'both', labelName: true },
  ZoneInsight: { path: 'zone-insights', scope: 'Global', proto: `${SYSTEM}ZoneInsight`, writers: 'none', insight: true },
  HostnameGenerator: { path: 'hostnamegenerators', short: 'hg', scope: 'Global', kds: 'GZ', writers: 'both' },
  MeshService: {
    path: 'meshservices',
    short: 'msvc',
    kds: 'ZX',
    status: '{"tls":{},"dataplaneProxies":{}}',
    writers: 'zone',
    labelName: true,
  },
  MeshMultiZoneService: {
    path: 'meshmultizoneservices',
    short: 'mzsvc',
    kds: 'G',
    status: '{}',
    writers: 'global',
    labelName: true,
  },
  MeshExternalService: {
    path: 'meshexternalservices',
    short: 'extsvc',
    kds: 'GZ',
    status: '{"vip":{}}',
    writers: 'both',
    labelName: true,
  },
  MeshIdentity: { path: 'meshidentities', short: 'mid', kds: 'GZ', status: '{}', writers: 'both' },
  MeshTrust: { path: 'meshtrusts', short: 'mtrust', kds: 'GZX', status: '{}', writers: 'both' },
  MeshOpenTelemetryBackend: { path: 'meshopentelemetrybackends', short: 'motb', kds: 'GZ', status: '{}', writers: 'both' },
  MeshZoneAddress: { path: 'meshzoneaddresses', short: 'mza', kds: 'ZX', writers: 'zone' },
  Workload: {
    path: 'workloads',
    short: 'wl',
    kds: 'Z',
    status: '{"dataplaneProxies":{"connected":0,"healthy":0,"total":0}}',
    writers: 'zone',
  },
  // Gateway API documents, kept where they were written; the mesh routes made of them are synced (D24).
  HTTPRoute: { path: 'httproutes', status: '{}', writers: 'both', own: true },
  TCPRoute: { path: 'tcproutes', status: '{}', writers: 'both', own: true },
};

/** name, path, short name, sections («to», «rules», S = has a status), plugin order. */
const POLICIES: readonly (readonly [string, string, string, string, number])[] = [
  ['MeshHTTPRoute', 'meshhttproutes', 'mhttpr', 'to', 100],
  ['MeshTCPRoute', 'meshtcproutes', 'mtcpr', 'to', 200],
  ['MeshTLS', 'meshtlses', 'mtls', 'rules', 300],
  ['MeshLoadBalancingStrategy', 'meshloadbalancingstrategies', 'mlbs', 'to', 400],
  ['MeshPassthrough', 'meshpassthroughs', 'mp', '', 500],
  ['MeshAccessLog', 'meshaccesslogs', 'mal', 'to rules S', 600],
  ['MeshTrace', 'meshtraces', 'mtr', 'S', 700],
  ['MeshFaultInjection', 'meshfaultinjections', 'mfi', 'to rules', 800],
  ['MeshRateLimit', 'meshratelimits', 'mrl', 'to rules', 900],
  ['MeshTimeout', 'meshtimeouts', 'mt', 'to rules', 1000],
  ['MeshTrafficPermission', 'meshtrafficpermissions', 'mtp', 'rules', 1100],
  ['MeshHealthCheck', 'meshhealthchecks', 'mhc', 'to', 1200],
  ['MeshCircuitBreaker', 'meshcircuitbreakers', 'mcb', 'to rules', 1300],
  ['MeshRetry', 'meshretries', 'mr', 'to', 1400],
  ['MeshMetric', 'meshmetrics', 'mm', 'S', 1500],
  ['MeshProxyPatch', 'meshproxypatches', 'mpp', '', 9999],
];

/** All types, in the order of kds-wire 3: core types, then policies by plugin order. */
export const resourceTypes: readonly TypeInfo[] = [
  ...Object.entries(CORE).map(([name, row]) => coreType(name, row)),
  ...POLICIES.map(policyType),
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
  const kds = row.kds ?? '';
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
      globalToZone: kds.includes('G'),
      zoneToGlobal: kds.includes('Z'),
      acrossZones: kds.includes('X'),
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

function policyType([name, path, short, uses, order]: (typeof POLICIES)[number]): TypeInfo {
  const core = coreType(name, { path, short, kds: 'GZX', writers: 'both', ...(uses.includes('S') && { status: '{}' }) });
  return { ...core, policy: { to: uses.includes('to'), rules: uses.includes('rules'), order } };
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
