// The features of a proxy, from the metadata of its node in the first request of a stream (xds 1, 7).
import { objectOf, textOf } from '../resource/read-json.ts';
import type { JsonObject } from '../resource/types.ts';
import { accessLogPipe } from './bootstrap.ts';

export type ProxyFeatures = {
  /** Several listeners of one port: `feature-reuse-port`. */
  readonly reusePort: boolean;
  /** The pipe of a program beside the proxy that forwards access logs (`feature-tcp-accesslog-via-named-pipe`), else null. */
  readonly tcpLogPipe: string | null;
  /**
   * The folder of a program beside the proxy that offers its metrics and sends its telemetry, as kuma-dp does
   * (`feature-otel-via-kuma-dp`). Null: the proxy does so itself.
   */
  readonly companion: string | null;
  /** That program answers names of the mesh (`--dns-enabled`), and waits for their records before it is ready. */
  readonly companionDns: boolean;
  /** The socket of Envoy's admin interface, else null. */
  readonly adminSocket: string | null;
  /** Files of the certificate for metrics, else null. */
  readonly metricsCertificate: { readonly certificate: string; readonly key: string } | null;
  /** File of the authorities that the machine trusts, else null. */
  readonly systemCa: string | null;
  /** The machine has IPv6. */
  readonly ipv6: boolean;
};

/**
 * Of a listener whose field Kuma leaves out. What is left out is on: a second Envoy would get connections of the same port without a word
 * (xds 3).
 */
export function portSharing({ reusePort }: Pick<ProxyFeatures, 'reusePort'>): JsonObject {
  return reusePort ? {} : { enableReusePort: false };
}

/** Whether a feature names a file or folder of the machine of the proxy. */
export function isPath(feature: ProxyFeatures[keyof ProxyFeatures]): boolean {
  return feature !== null && typeof feature !== 'boolean';
}

/** The common features of proxies that differ only in their paths. */
export function sharedFeatures(features: ProxyFeatures): Record<string, boolean> {
  return Object.fromEntries(
    Object.entries(features).map(([key, feature]) => [key, typeof feature === 'boolean' ? feature : feature !== null]),
  );
}

/** The features of an unknown Envoy: none. */
export const WITHOUT_FEATURES: ProxyFeatures = {
  reusePort: false,
  tcpLogPipe: null,
  companion: null,
  companionDns: false,
  adminSocket: null,
  metricsCertificate: null,
  systemCa: null,
  ipv6: false,
};

/** @param metadata of the node */
export function proxyFeatures(metadata: JsonObject, { mesh, name }: { mesh: string; name: string }): ProxyFeatures {
  const features = new Set(Array.isArray(metadata['features']) ? metadata['features'] : []);
  const workdir = textOf(metadata['workdir']);
  const admin = textOf(metadata['dataplane.admin.socketPath'] ?? objectOf(metadata['dataplane.admin'])['socketPath']);
  const [certificate, key] = [textOf(metadata['metricsCertPath']), textOf(metadata['metricsKeyPath'])];
  const systemCa = textOf(metadata['systemCaPath']);
  return {
    reusePort: features.has('feature-reuse-port'),
    tcpLogPipe: features.has('feature-tcp-accesslog-via-named-pipe') ? accessLogPipe({ workdir, name, mesh }) : null,
    companion: features.has('feature-otel-via-kuma-dp') && workdir !== '' ? workdir : null,
    companionDns: Number(textOf(metadata['dataplane.dns.port'])) > 0,
    adminSocket: admin === '' ? null : admin,
    metricsCertificate: certificate === '' || key === '' ? null : { certificate, key },
    systemCa: systemCa === '' ? null : systemCa,
    ipv6: metadata['ipv6Enabled'] === true,
  };
}
