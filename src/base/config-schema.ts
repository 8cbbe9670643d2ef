// Every key of the configuration with its type and default; paths are Kuma's where the thing is the same (rest-api 7).
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
const count = (value: number) => z.int().min(0).default(value);
/** A Go duration in the file, milliseconds in the program. */
const duration = (value: string) =>
  z
    .string()
    .refine((given) => (parseGoDuration(given) ?? -1) >= 0, 'must be a duration such as "10s" or "1m30s"')
    .transform((given) => parseGoDuration(given) ?? 0)
    .prefault(value);
const section = <T extends z.ZodRawShape>(shape: T) => z.strictObject(shape).prefault({} as never);

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
  general: section({ workDir: text(defaultWorkDir), tlsCertFile: text(''), tlsKeyFile: text('') }),
  store: section({
    type: z.enum(['embedded', 'postgres']).default('embedded'),
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
  apiServer: section({ readOnly: flag(false), http: section({ interface: text('0.0.0.0'), port: port(5681) }) }),
  diagnostics: section({ serverPort: port(5680) }),
  defaults: section({ skipMeshCreation: flag(false), skipTenantResources: flag(false), skipHostnameGenerators: flag(false) }),
  metrics: section({ zone: section({ subscriptionLimit: count(10) }) }),
  multizone: section({
    global: section({
      kds: section({
        grpcPort: port(5685),
        tlsEnabled: flag(true),
        tlsCertFile: text(''),
        tlsKeyFile: text(''),
        maxMsgSize: z.int().min(65_536).default(10_485_760),
        zoneInsightFlushInterval: duration('10s'),
        auth: section({
          type: z.enum(['none'], 'must be none: zone tokens are not built yet').default('none'),
          allowWithoutToken: z.array(z.string()).default([]),
        }),
      }),
    }),
    zone: section({
      name: zoneName,
      globalAddress,
      acceptNewCluster: flag(false),
      disableOriginLabelValidation: flag(false),
      kds: section({
        rootCaFile: text(''),
        tlsSkipVerify: flag(false),
        maxMsgSize: z.int().min(65_536).default(10_485_760),
        auth: section({ tokenFile: text('') }),
      }),
    }),
  }),
});

export type RawConfig = z.output<typeof configSchema>;

/**
 * Sections and keys that Kuma has and that mean nothing here: named in a warning, so that a Kuma file starts a Meridian.
 * A path stands for everything below it.
 */
export const kumaOnlyKeys: readonly string[] = [
  'access',
  'apiServer.authn',
  'apiServer.basePath',
  'apiServer.corsAllowedDomains',
  'apiServer.gui',
  'apiServer.http.enabled',
  'apiServer.https',
  'apiServer.idleTimeout',
  'apiServer.readHeaderTimeout',
  'apiServer.readTimeout',
  'apiServer.rootUrl',
  'apiServer.writeTimeout',
  'bootstrapServer',
  'coreResources',
  'diagnostics.debugEndpoints',
  'diagnostics.tlsEnabled',
  'dnsServer',
  'dpServer',
  'eventBus',
  'experimental',
  'general.resilientComponentBaseBackoff',
  'general.resilientComponentMaxBackoff',
  'general.tlsCipherSuites',
  'general.tlsMaxVersion',
  'general.tlsMinVersion',
  'interCp',
  'ipam',
  'meshService',
  'metrics.controlPlane',
  'metrics.dataplane',
  'metrics.mesh',
  'metrics.zone.compactFinishedSubscriptions',
  'metrics.zone.idleTimeout',
  'monitoringAssignmentServer',
  'multizone.global.kds.eventBasedWatchdog',
  'multizone.global.kds.labels',
  'multizone.global.kds.logPayloads',
  'multizone.global.kds.msgSendTimeout',
  'multizone.global.kds.nackBackoff',
  'multizone.global.kds.responseBackoff',
  'multizone.global.kds.tlsCipherSuites',
  'multizone.global.kds.tlsMaxVersion',
  'multizone.global.kds.tlsMinVersion',
  'multizone.global.kds.tracing',
  'multizone.global.kds.zoneHealthCheck',
  'multizone.zone.kds.eventBasedWatchdog',
  'multizone.zone.kds.labels',
  'multizone.zone.kds.logPayloads',
  'multizone.zone.kds.msgSendTimeout',
  'multizone.zone.kds.nackBackoff',
  'multizone.zone.kds.responseBackoff',
  'policies',
  'proxy',
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
  'store.unsafeDelete',
  'store.upsert',
  'tracing',
  'transparentProxy',
];
