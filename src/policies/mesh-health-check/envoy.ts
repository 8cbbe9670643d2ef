// MeshHealthCheck: a proxy asks the endpoints of a service whether they answer (policies 2.6, xds 3.3).
import type { Conf } from '../confs.ts';
import type { ClusterPlace } from '../policy-definition.ts';
import type { JsonObject, Labels } from '../../resource/types.ts';
import { isHttp, type Protocol } from '../../envoy/protocol.ts';
import { decimal, duration, extension, given, headerOptions, optionalDuration } from '../../envoy/proto-json.ts';

type HealthCheck = Conf<'MeshHealthCheck'>;

/** `{healthChecks, ignoreHealthOnHostRemoval, commonLbConfig}`; nothing where no check fits the protocol. */
export function healthChecks(conf: HealthCheck, { protocol, client }: Pick<ClusterPlace, 'protocol' | 'client'>): JsonObject {
  const check = checkOf(conf, protocol, client);
  if (check === null) return {};
  const panic = decimal(conf.healthyPanicThreshold);
  const commonLbConfig: JsonObject = {
    ...(conf.failTrafficOnPanic === true && { zoneAwareLbConfig: { failTrafficOnPanic: true } }),
    ...(panic !== undefined && { healthyPanicThreshold: { value: panic } }),
  };
  return {
    healthChecks: [
      given({
        timeout: duration(conf.timeout, '15s'),
        interval: duration(conf.interval, '60s'),
        initialJitter: optionalDuration(conf.initialJitter),
        intervalJitter: optionalDuration(conf.intervalJitter),
        intervalJitterPercent: conf.intervalJitterPercent,
        unhealthyThreshold: conf.unhealthyThreshold ?? 5,
        healthyThreshold: conf.healthyThreshold ?? 1,
        noTrafficInterval: optionalDuration(conf.noTrafficInterval),
        reuseConnection: conf.reuseConnection,
        alwaysLogHealthCheckFailures: conf.alwaysLogHealthCheckFailures,
        eventLogger: conf.eventLogPath === undefined ? undefined : [eventFile(conf.eventLogPath)],
        ...check,
      }),
    ],
    // Envoy would send requests to a removed endpoint until the endpoint fails so many checks as the policy says.
    ignoreHealthOnHostRemoval: true,
    ...(Object.keys(commonLbConfig).length > 0 && { commonLbConfig }),
  };
}

/** The check of the port's own protocol; a TCP check for every other. */
function checkOf({ http, tcp, grpc }: HealthCheck, protocol: Protocol, client: ClusterPlace['client']): JsonObject | null {
  if (isOn(grpc) && protocol === 'grpc') return { grpcHealthCheck: grpcCheck(grpc) };
  if (isOn(http) && (protocol === 'http' || protocol === 'http2')) return { httpHealthCheck: httpCheck(http, client.labels) };
  if (isOn(tcp) && !(isHttp(protocol) && (http !== undefined || grpc !== undefined))) return { tcpHealthCheck: tcpCheck(tcp) };
  return null;
}

function isOn<T extends { readonly disabled?: boolean | undefined }>(check: T | undefined): check is T {
  return check !== undefined && check.disabled !== true;
}

function grpcCheck({ serviceName, authority }: NonNullable<HealthCheck['grpc']>): JsonObject {
  return given({ serviceName, authority });
}

function httpCheck(
  { path, requestHeadersToAdd: { set = [], add = [] } = {}, expectedStatuses: statuses = [] }: NonNullable<HealthCheck['http']>,
  labels: Labels,
): JsonObject {
  const tags = Object.entries(labels)
    .map(([key, value]) => `&${key}=${value}&`)
    .sort()
    .join('');
  const [added, replaced] = [headerOptions([], add), headerOptions(set, [])];
  return given({
    path: path ?? '/',
    requestHeadersToAdd: [{ header: { key: 'x-kuma-tags', value: tags } }, ...added, ...replaced],
    expectedStatuses:
      statuses.length === 0 ? undefined : statuses.map((status) => ({ start: String(status), end: String(status + 1) })),
  });
}

/** The texts are base64; Envoy takes them as hexadecimal digits. */
function tcpCheck({ send, receive }: NonNullable<HealthCheck['tcp']>): JsonObject {
  const hex = (text: string): JsonObject => ({ text: Buffer.from(text, 'base64').toString('hex') });
  return given({ send: send === undefined ? undefined : hex(send), receive: receive?.map(hex) });
}

function eventFile(eventLogPath: string): JsonObject {
  const type = 'extensions.health_check.event_sinks.file.v3.HealthCheckEventFileSink';
  return extension('envoy.health_check.event_sinks.file', type, { eventLogPath });
}
