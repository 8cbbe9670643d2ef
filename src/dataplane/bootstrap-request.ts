// The request for a bootstrap: the facts about a proxy that its control plane needs (xds 1). Pure.
import { productVersion } from '../base/version.ts';
import { DRAIN_SECONDS } from '../resource/drain-seconds.ts';
import type { JsonObject } from '../resource/types.ts';

export type ProxyFacts = {
  readonly mesh: string;
  readonly name: string;
  /** `''` without a token. */
  readonly token: string;
  /** In Universal form; null for a Dataplane that the control plane has. */
  readonly dataplane: JsonObject | null;
  readonly envoy: { readonly version: string; readonly build: string };
  /** PEM; `''` leaves the choice to the control plane. */
  readonly caCert: string;
  readonly readinessPort: number;
  /** Absolute path of the folder for sockets. */
  readonly workDir: string;
  /** The certificates that this machine trusts; `''` if the file is not known. */
  readonly systemCaPath: string;
  readonly ipv6Enabled: boolean;
  readonly drainMs: number;
  /** Whether this launcher forwards access logs from a pipe to TCP addresses. */
  readonly forwardsLogs: boolean;
};

/** The drain time as Envoy takes it. */
export function drainSeconds(drainMs: number): number {
  return Math.ceil(drainMs / 1_000);
}

/** What this launcher can do. */
const FEATURES = ['feature-strict-inbound-ports', 'feature-reuse-port'];

/** The body of `POST /bootstrap`. */
export function bootstrapRequest(facts: ProxyFacts): JsonObject {
  const { mesh, name, dataplane, envoy } = facts;
  return {
    mesh,
    name,
    proxyType: 'dataplane',
    dataplaneToken: facts.token,
    ...(dataplane !== null && { dataplaneResource: JSON.stringify(dataplane) }),
    version: {
      kumaDp: { version: productVersion, gitTag: '', gitCommit: '', buildDate: '' },
      envoy: { ...envoy, kumaDpCompatible: true },
    },
    caCert: facts.caCert,
    // A control plane of Kuma takes text alone.
    dynamicMetadata: { [DRAIN_SECONDS]: String(drainSeconds(facts.drainMs)) },
    readinessPort: facts.readinessPort,
    operatingSystem: process.platform,
    features: facts.forwardsLogs ? [...FEATURES, 'feature-tcp-accesslog-via-named-pipe'] : FEATURES,
    resources: { maxHeapSizeBytes: 0 },
    workdir: facts.workDir,
    metricsResources: { certPath: '', keyPath: '' },
    systemCaPath: facts.systemCaPath,
    ipv6Enabled: facts.ipv6Enabled,
    spireResources: { socketPath: '' },
  };
}
