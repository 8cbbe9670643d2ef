// Every key of the configuration with its type and default; paths are those of Kuma for the same settings (rest-api 7.1).
import { homedir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { parseGoDuration } from './duration.ts';

const text = (value: string) => z.string().default(value);
const flag = (value: boolean) => z.boolean().default(value);
const port = (value: number) =>
  z
    .int('must be a port, 0 to 65535')
    .min(0, 'must be a port, 0 to 65535')
    .max(65_535, 'must be a port, 0 to 65535')
    .default(value);
const percent = (value: number) =>
  z
    .int('must be a whole number, 1 to 100')
    .min(1, 'must be a whole number, 1 to 100')
    .max(100, 'must be a whole number, 1 to 100')
    .default(value);
const count = (value: number) => z.int().min(0).default(value);
/** A Go duration in the file, milliseconds in the program. */
const duration = (value: string) =>
  z
    .string()
    .refine((given) => (parseGoDuration(given) ?? -1) >= 0, 'must be a duration such as "10s" or "1m30s"')
    .transform((given) => parseGoDuration(given) ?? 0)
    .prefault(value);
/** A duration between two rounds of work. */
const interval = (value: string) =>
  duration(value).refine((ms) => ms >= 1, 'must be a duration above 0 such as "10s" or "1m30s"');
const cidr = (value: string) =>
  z
    .string()
    .regex(
      /^((25[0-5]|2[0-4]\d|1?\d?\d)(\.(?!\/)|(?=\/))){4}\/([1-9]|[12]\d|30)$/,
      'must be an IPv4 network such as "241.0.0.0/8"',
    )
    .default(value);
const section = <T extends z.ZodRawShape>(shape: T) => z.strictObject(shape).prefault({} as never);
const texts = (...value: string[]) => z.array(z.string()).default(value);
/** The lowest TLS version of a server; `''` means that of `general.tlsMinVersion`. */
const tlsVersion = z.enum(['', 'TLSv1_2', 'TLSv1_3'], 'must be TLSv1_2 or TLSv1_3').default('');
/** PEM public keys that check tokens besides those of the store (rest-api 5). */
const validator = section({
  publicKeys: z.array(z.strictObject({ kid: z.string().min(1), key: text(''), keyFile: text('') })).default([]),
});
const issuer = section({ enableIssuer: flag(true), validator });
const ADMIN = 'mesh-system:admin';
/** The users and groups that may do one action (rest-api 5). */
const admins = section({ users: texts(ADMIN), groups: texts(ADMIN) });
const everybody = section({ users: texts(), groups: texts('mesh-system:unauthenticated', 'mesh-system:authenticated') });

/** The write access of users and groups; `*` is every type or every mesh. */
const writeRule = z.strictObject({
  users: texts(),
  groups: texts(),
  types: texts('*'),
  meshes: texts('*'),
});
const writeRules = z.array(writeRule).prefault([{ groups: ['mesh-system:unauthenticated', 'mesh-system:authenticated'] }]);

/** Labels with these prefixes stay on this side. */
const labels = section({ skipPrefixes: texts() });

const zoneName = z
  .string()
  .regex(
    /^([a-z]([a-z0-9-]{0,61}[a-z0-9])?)?$/,
    'must be an RFC 1035 label: lower-case letters, digits and hyphens, a letter first, at most 63',
  )
  .default('default');
const globalAddress = z
  .string()
  .regex(
    /^(grpcs?:\/\/[^/\s:]+:\d{1,5}|grpcs?:\/\/\[[0-9a-fA-F:]+\]:\d{1,5})?$/,
    'must be grpcs://HOST:PORT, or grpc://HOST:PORT without TLS',
  )
  .default('');

const defaultWorkDir = join(homedir(), '.meridian');

export const configSchema = z.strictObject({
  mode: z.enum(['global', 'zone']).default('zone'),
  environment: z.literal('universal').default('universal'),
  log: section({ level: z.enum(['silent', 'error', 'warn', 'info', 'debug']).default('info') }),
  general: section({
    workDir: text(defaultWorkDir),
    tlsCertFile: text(''),
    tlsKeyFile: text(''),
    tlsMinVersion: z.enum(['TLSv1_2', 'TLSv1_3'], 'must be TLSv1_2 or TLSv1_3').default('TLSv1_2'),
  }),
  store: section({
    type: z.enum(['embedded', 'postgres']).default('embedded'),
    unsafeDelete: flag(false),
    /** The versions of each resource that are kept, for how long after they were replaced, and how many of all resources together. */
    history: section({
      versions: z.int().min(1).default(10),
      age: duration('720h'),
      total: z.int().min(1).default(500_000),
    }),
    embedded: section({ path: text('') }),
    postgres: section({
      host: text('127.0.0.1'),
      port: port(5432),
      user: text('meridian'),
      password: text('meridian'),
      dbName: text('meridian'),
      maxOpenConnections: z.int().min(1).default(50),
      connectionTimeout: z.int().min(1).default(5),
      tls: section({
        mode: z.enum(['disable', 'verifyNone', 'verifyCa', 'verifyFull']).default('disable'),
        certPath: text(''),
        keyPath: text(''),
        caPath: text(''),
      }),
    }),
  }),
  apiServer: section({
    readOnly: flag(false),
    corsAllowedDomains: texts(),
    /** Host names for writes, besides localhost and IP addresses; `*` allows every name. */
    allowedHosts: texts(),
    http: section({ enabled: flag(true), interface: text('127.0.0.1'), port: port(5681) }),
    https: section({
      // Kuma enables it by default. Two control planes on one machine would then conflict over a port that no one configured.
      enabled: flag(false),
      interface: text('127.0.0.1'),
      port: port(5682),
      tlsCertFile: text(''),
      tlsKeyFile: text(''),
      tlsCaFile: text(''),
      requireClientCert: flag(false),
      tlsMinVersion: tlsVersion,
    }),
    authn: section({
      type: z.enum(['tokens', 'none'], 'must be tokens, or none to accept every caller').default('tokens'),
      localhostIsAdmin: flag(true),
      tokens: section({ bootstrapAdminToken: flag(true), enableIssuer: flag(true), validator }),
    }),
    readHeaderTimeout: duration('10s'),
    readTimeout: duration('60s'),
    idleTimeout: duration('2m'),
    /** Requests a second for each client address; 0 sets no limit. Local callers are not limited. */
    rateLimit: section({ requestsPerSecond: count(1_000), burst: count(2_000) }),
  }),
  access: section({
    type: z.literal('static', 'must be static').default('static'),
    static: section({
      adminResources: admins,
      resources: writeRules,
      acceptPeers: admins,
      generateUserToken: admins,
      generateDpToken: admins,
      generateZoneToken: admins,
      viewConfigDump: everybody,
      viewStats: everybody,
      viewClusters: everybody,
      controlPlaneMetadata: everybody,
    }),
  }),
  /** The port for proxies, of a zone alone. */
  dpServer: section({
    /** `''` means all addresses of the machine. */
    interface: text(''),
    port: port(5678),
    tlsCertFile: text(''),
    tlsKeyFile: text(''),
    tlsMinVersion: tlsVersion,
    readHeaderTimeout: duration('5s'),
    connections: section({
      /** The limit for one address: proxies behind a gateway or on one machine share theirs. */
      perAddress: z.int().min(1).default(5_000),
      total: z.int().min(1).default(20_000),
      /** The limit of open streams of one connection. An Envoy has one for its configuration and one for its health. */
      streams: z.int().min(1).default(100),
      /** The limit for a connection without a stream, and for a stream that has not named its Dataplane. */
      idleTimeout: duration('10s'),
    }),
    /** Envoys report their health and that of the applications behind them. */
    hds: section({
      enabled: flag(true),
      interval: duration('5s'),
      /** The probe of applications of HTTP whose inbounds have no serviceProbe. */
      applications: section({
        enabled: flag(true),
        interval: interval('2s'),
        timeout: interval('2s'),
        unhealthyThreshold: z.int().min(1, 'must be greater than 0').default(3),
      }),
    }),
    authn: section({
      zoneProxy: section({ zoneToken: issuer }),
      dpProxy: section({
        type: z
          .enum(['', 'dpToken', 'none'], 'must be dpToken, or none to admit every proxy without a token')
          .transform((type) => type || ('dpToken' as const))
          .prefault('dpToken'),
        dpToken: issuer,
      }),
    }),
  }),
  diagnostics: section({ interface: text('127.0.0.1'), serverPort: port(5680) }),
  defaults: section({ skipMeshCreation: flag(false), skipTenantResources: flag(false), skipHostnameGenerators: flag(false) }),
  ipam: section({
    meshService: section({ cidr: cidr('241.0.0.0/8') }),
    meshExternalService: section({ cidr: cidr('242.0.0.0/8') }),
    meshMultiZoneService: section({ cidr: cidr('243.0.0.0/8') }),
  }),
  /** Services follow their Dataplanes at once; `generationInterval: 0s` disables generated services. */
  meshService: section({ generationInterval: duration('2s'), deletionGracePeriod: duration('1h') }),
  metrics: section({
    zone: section({ subscriptionLimit: count(10) }),
    dataplane: section({ subscriptionLimit: count(2), idleTimeout: interval('5m') }),
  }),
  xdsServer: section({
    /** The maximum delay of counts in a DataplaneInsight. */
    dataplaneStatusFlushInterval: interval('10s'),
    /** The time for which a Dataplane that a proxy brought outlasts the stream of the proxy. */
    dataplaneDeregistrationDelay: duration('10s'),
  }),
  multizone: section({
    global: section({
      /** The state of proxies that global keeps: an insight of each, or only the numbers of each zone by state. */
      insights: z.enum(['all', 'counts'], 'must be all, or counts to keep no insight of each proxy').default('all'),
      /**
       * The losses that zones may have when this global takes over the database of a Kuma global, by the names of `meridian
       * takeover check`.
       */
      takeover: section({
        accept: texts(),
        /** The release of the Kuma global; without it the zones that ever connected tell it. */
        release: z.enum(['', '2', '3'], 'must be 2 or 3, or empty').default(''),
      }),
      kds: section({
        grpcPort: port(5685),
        tlsEnabled: flag(true),
        tlsCertFile: text(''),
        tlsKeyFile: text(''),
        tlsCaFile: text(''),
        requireClientCert: flag(false),
        tlsMinVersion: tlsVersion,
        maxMsgSize: z.int().min(65_536).default(10_485_760),
        /** The limits of one zone. */
        quotas: section({
          /** The limit of open streams of one kind. */
          streams: z.int().min(2).default(8),
          /** The limit of rows of the zone on global. */
          rows: z.int().min(1).default(100_000),
          /** The limit of one resource, in bytes. */
          resourceBytes: z.int().min(65_536).default(2_097_152),
          /** The number of full states without a wait. A zone that says which versions it has needs none. */
          fullStates: z.int().min(1).default(3),
          /** The time for each further full state. */
          fullStateInterval: duration('10s'),
        }),
        connections: section({
          /** The limit for one address. */
          perAddress: z.int().min(1).default(1_000),
          total: z.int().min(1).default(10_000),
          /** The limit of open streams of one connection: a zone has five, and some more while it connects again. */
          streams: z.int().min(10).default(100),
          /** The time until a connection without a stream is closed. */
          idleTimeout: duration('10s'),
        }),
        labels,
        /** Whether global sends the MeshTrusts of a zone to the other zones. */
        meshTrustAcrossZones: flag(true),
        /** The settings of the replicas on one database, which share the zones. */
        sharing: section({
          enabled: flag(true),
          /** The time for which a replica has too many zones before it moves some. */
          settleTime: duration('15s'),
          /** The largest percentage of its zones that it moves in a second. */
          percentPerSecond: percent(1),
        }),
        /** The time over which a replica that stops moves its zones to the others. */
        drainTime: duration('5s'),
        zoneInsightFlushInterval: interval('10s'),
        zoneHealthCheck: section({ pollInterval: duration('0s'), timeout: duration('0s'), closeStaleConn: flag(false) }),
        auth: section({
          type: z
            .enum(['zoneToken', 'none'], 'must be zoneToken, or none for Kuma zones, which send no token')
            .default('zoneToken'),
          allowWithoutToken: texts(),
        }),
      }),
    }),
    zone: section({
      name: zoneName,
      globalAddress,
      acceptNewCluster: flag(false),
      disableOriginLabelValidation: flag(false),
      /** The time for proxies of other zones to accept a change of an identity, if their zones do not report it. */
      identityChangeDelay: duration('10m'),
      kds: section({
        rootCaFile: text(''),
        tlsSkipVerify: flag(false),
        tlsCertFile: text(''),
        tlsKeyFile: text(''),
        maxMsgSize: z.int().min(65_536).default(10_485_760),
        labels,
        auth: section({ tokenFile: text('') }),
      }),
    }),
  }),
});

export type RawConfig = z.output<typeof configSchema>;

/** Keys that Kuma spells in another way (rest-api 7.1), with their path here. */
export const kumaSpellings: ReadonlyMap<string, string> = new Map([
  ['defaults.SkipHostnameGenerators', 'defaults.skipHostnameGenerators'],
]);

/** The TLS of Kuma's diagnostics port. Kuma configures it besides `diagnostics.tlsEnabled`, also while that is false. */
const diagnosticsTls = ['tlsEnabled', 'tlsCertFile', 'tlsKeyFile', 'tlsMinVersion', 'tlsMaxVersion', 'tlsCipherSuites'].map(
  (key) => `diagnostics.${key}`,
);

/** The effect that a user of such a key of Kuma must know. */
export const kumaOnlyEffects: ReadonlyMap<string, string> = new Map(
  diagnosticsTls.map((path) => [path, 'the diagnostics port serves plain text']),
);

/**
 * Sections and keys of Kuma that Meridian does not use. They give a warning, so that Meridian starts with a Kuma file. A path
 * includes everything below it.
 */
export const kumaOnlyKeys: readonly string[] = [
  'apiServer.authn.tokens.validator.useSecrets',
  'apiServer.basePath',
  'apiServer.gui',
  'apiServer.https.tlsCipherSuites',
  'apiServer.https.tlsMaxVersion',
  'apiServer.rootUrl',
  'apiServer.writeTimeout',
  'bootstrapServer',
  'coreResources',
  'diagnostics.debugEndpoints',
  ...diagnosticsTls,
  'dnsServer',
  'dpServer',
  'eventBus',
  'experimental',
  'general.certGenerationBaseBackoff',
  'general.certGenerationCircuitBreakerMinProxies',
  'general.certGenerationMaxBackoff',
  'general.dnsCacheTTL',
  'general.resilientComponentBaseBackoff',
  'general.resilientComponentMaxBackoff',
  'general.tlsCipherSuites',
  'general.tlsMaxVersion',
  'interCp',
  'ipam.allocationInterval',
  'ipam.knownInternalCIDRs',
  'meshService.labelPropagation',
  'metrics.controlPlane',
  'metrics.mesh',
  'metrics.openTelemetry',
  'metrics.zone.compactFinishedSubscriptions',
  'metrics.zone.idleTimeout',
  'monitoringAssignmentServer',
  'multizone.global.kds.eventBasedWatchdog',
  'multizone.global.kds.logPayloads',
  'multizone.global.kds.msgSendTimeout',
  'multizone.global.kds.nackBackoff',
  'multizone.global.kds.responseBackoff',
  'multizone.global.kds.tlsCipherSuites',
  'multizone.global.kds.tlsMaxVersion',
  'multizone.global.kds.tracing',
  'multizone.zone.kds.eventBasedWatchdog',
  'multizone.zone.kds.logPayloads',
  'multizone.zone.kds.msgSendTimeout',
  'multizone.zone.kds.nackBackoff',
  'multizone.zone.kds.responseBackoff',
  'policies',
  'proxy',
  'reports',
  'runtime',
  'store.cache',
  'store.kubernetes',
  'store.postgres.connectionTimeoutJitter',
  'store.postgres.driverName',
  'store.postgres.healthCheckInterval',
  'store.postgres.maxConnectionIdleTime',
  'store.postgres.maxConnectionLifetime',
  'store.postgres.maxConnectionLifetimeJitter',
  'store.postgres.maxIdleConnections',
  'store.postgres.maxListQueryElements',
  'store.postgres.minOpenConnections',
  'store.postgres.readReplica',
  'store.postgres.tls.disableSSLSNI',
  'store.postgres.tolerateNewerDBVersions',
  'store.upsert',
  'tracing',
  'transparentProxy',
  'xdsServer.dataplaneConfigurationRefreshInterval',
  'xdsServer.nackBackoff',
  'xdsServer.policyMatchingCacheSize',
];
