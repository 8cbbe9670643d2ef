// MeshHealthCheck: a proxy asks the endpoints of a service whether they answer (policies 2.6, xds 3.3).
import { isObject, objectOf, objectsOf, textOf } from '../resource/read-json.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import type { Client } from './client.ts';
import { isHttp, type Protocol } from './protocol.ts';
import { decimal, duration, extension, given, headerOptions, optionalDuration } from './proto-json.ts';

/**
 * `{healthChecks, ignoreHealthOnHostRemoval, commonLbConfig}`; nothing where no check fits the protocol.
 * @param client the proxy that checks
 */
export function healthChecks(conf: JsonObject, protocol: Protocol, client: Client): JsonObject {
  const check = checkOf(conf, protocol, client);
  if (check === null) return {};
  const path = textOf(conf['eventLogPath']);
  const panic = decimal(conf['healthyPanicThreshold']);
  const commonLbConfig: JsonObject = {
    ...(conf['failTrafficOnPanic'] === true && { zoneAwareLbConfig: { failTrafficOnPanic: true } }),
    ...(panic !== undefined && { healthyPanicThreshold: { value: panic } }),
  };
  return {
    healthChecks: [
      given({
        timeout: duration(conf['timeout'], '15s'),
        interval: duration(conf['interval'], '60s'),
        initialJitter: optionalDuration(conf['initialJitter']),
        intervalJitter: optionalDuration(conf['intervalJitter']),
        intervalJitterPercent: conf['intervalJitterPercent'],
        unhealthyThreshold: conf['unhealthyThreshold'] ?? 5,
        healthyThreshold: conf['healthyThreshold'] ?? 1,
        noTrafficInterval: optionalDuration(conf['noTrafficInterval']),
        reuseConnection: conf['reuseConnection'],
        alwaysLogHealthCheckFailures: conf['alwaysLogHealthCheckFailures'],
        eventLogger: path === '' ? undefined : [eventFile(path)],
        ...check,
      }),
    ],
    // Envoy would send requests to a removed endpoint until the endpoint fails so many checks as the policy says.
    ignoreHealthOnHostRemoval: true,
    ...(Object.keys(commonLbConfig).length > 0 && { commonLbConfig }),
  };
}

/** The check of the port's own protocol; a TCP check for every other. */
function checkOf({ http, tcp, grpc }: JsonObject, protocol: Protocol, client: Client): JsonObject | null {
  if (isOn(grpc) && protocol === 'grpc') return { grpcHealthCheck: grpcCheck(objectOf(grpc)) };
  if (isOn(http) && (protocol === 'http' || protocol === 'http2'))
    return { httpHealthCheck: httpCheck(objectOf(http), client.labels) };
  if (isOn(tcp) && !(isHttp(protocol) && (isObject(http) || isObject(grpc)))) return { tcpHealthCheck: tcpCheck(objectOf(tcp)) };
  return null;
}

function isOn(check: Json | undefined): boolean {
  return isObject(check) && check['disabled'] !== true;
}

function grpcCheck({ serviceName, authority }: JsonObject): JsonObject {
  return given({ serviceName, authority });
}

function httpCheck({ path, requestHeadersToAdd, expectedStatuses }: JsonObject, labels: JsonObject): JsonObject {
  const { set, add } = objectOf(requestHeadersToAdd);
  const statuses = Array.isArray(expectedStatuses) ? expectedStatuses : [];
  const tags = Object.entries(labels)
    .map(([key, value]) => `&${key}=${textOf(value)}&`)
    .sort()
    .join('');
  const [added, replaced] = [headerOptions([], objectsOf(add)), headerOptions(objectsOf(set), [])];
  return given({
    path: path ?? '/',
    requestHeadersToAdd: [{ header: { key: 'x-kuma-tags', value: tags } }, ...added, ...replaced],
    expectedStatuses:
      statuses.length === 0 ? undefined : statuses.map((status) => ({ start: String(status), end: String(Number(status) + 1) })),
  });
}

/** The texts are base64; Envoy takes them as hexadecimal digits. */
function tcpCheck({ send, receive }: JsonObject): JsonObject {
  const hex = (text: Json): JsonObject => ({ text: Buffer.from(textOf(text), 'base64').toString('hex') });
  return given({
    send: send === undefined ? undefined : hex(send),
    receive: Array.isArray(receive) ? receive.map(hex) : undefined,
  });
}

function eventFile(eventLogPath: string): JsonObject {
  const type = 'extensions.health_check.event_sinks.file.v3.HealthCheckEventFileSink';
  return extension('envoy.health_check.event_sinks.file', type, { eventLogPath });
}
