// MeshAccessLog as access loggers of a listener (policies 2.4, xds 3.3).
import { compareText } from '../../base/compare-text.ts';
import { originAttributes } from '../../envoy/origin-attributes.ts';
import { objectOf } from '../../resource/read-json.ts';
import type { Conf } from '../confs.ts';
import type { InboundMatch } from '../../schema/inbound-match.ts';
import type { Json, JsonObject } from '../../resource/types.ts';
import { anyValue } from '../../envoy/any-value.ts';
import { extension } from '../../envoy/proto-json.ts';

const HTTP_FORMAT =
  '[%START_TIME%] %KUMA_MESH% "%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%" %RESPONSE_CODE% %RESPONSE_FLAGS% ' +
  '%BYTES_RECEIVED% %BYTES_SENT% %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% "%REQ(X-FORWARDED-FOR)%" "%REQ(USER-AGENT)%" ' +
  '"%REQ(X-B3-TRACEID?X-DATADOG-TRACEID)%" "%REQ(X-REQUEST-ID)%" "%REQ(:AUTHORITY)%" "%KUMA_SOURCE_SERVICE%" ' +
  '"%KUMA_DESTINATION_SERVICE%" "%KUMA_SOURCE_ADDRESS_WITHOUT_PORT%" "%UPSTREAM_HOST%"';
const TCP_FORMAT =
  '[%START_TIME%] %RESPONSE_FLAGS% %KUMA_MESH% %KUMA_SOURCE_ADDRESS_WITHOUT_PORT%(%KUMA_SOURCE_SERVICE%)->%UPSTREAM_HOST%' +
  '(%KUMA_DESTINATION_SERVICE%) took %DURATION%ms, sent %BYTES_SENT% bytes, received: %BYTES_RECEIVED% bytes';

type Backend = NonNullable<Conf<'MeshAccessLog'>['backends']>[number];
/** `openTelemetry` of a backend. */
export type OpenTelemetryLog = NonNullable<Backend['openTelemetry']>;
type Format = NonNullable<NonNullable<Backend['file']>['format']>;

/** The values that the control plane fills in: it knows both ends of a connection before the connection exists. */
export type LogContext = {
  readonly mesh: string;
  readonly zone: string;
  readonly source: string;
  readonly destination: string;
  readonly address: string;
  readonly direction: 'INBOUND' | 'OUTBOUND';
  readonly isHttp: boolean;
  /** A pipe beside the proxy that forwards lines to TCP addresses; null without one. */
  readonly tcpPipe: string | null;
  /** The workload of the proxy. */
  readonly workload: string;
  /** The cluster of a collector, from `openTelemetry` of a backend; null where there is none. */
  readonly collector: (openTelemetry: OpenTelemetryLog) => string | null;
};

/** Condition of a logger; left out: every request. */
export type LogFilter = JsonObject | null;

/**
 * The loggers of a conf. Envoy writes to files: a TCP backend is a pipe of a program beside it, and has no logger without one.
 * @param conf MeshAccessLog in force
 */
export function accessLoggers(
  { backends = [] }: Conf<'MeshAccessLog'>,
  context: LogContext,
  filter: LogFilter = null,
): JsonObject[] {
  return backends.flatMap((backend) => {
    const logger = loggerOf(backend, context);
    if (logger === null) return [];
    return [filter === null ? logger : { ...logger, filter }];
  });
}

function loggerOf({ type, file, tcp, openTelemetry }: Backend, context: LogContext): JsonObject | null {
  if (type === 'File') return file === undefined ? null : fileLogger(file.path, formatOf(file.format, context));
  if (type === 'OpenTelemetry') return openTelemetry === undefined ? null : openTelemetryLogger(openTelemetry, context);
  if (tcp === undefined || context.tcpPipe === null) return null;
  const { address, format } = tcp;
  const { jsonFormat, textFormatSource, ...rest } = formatOf(format, context);
  const message = jsonFormat ?? objectOf(textFormatSource)['inlineString'] ?? '';
  return fileLogger(context.tcpPipe, { jsonFormat: { address, message }, ...rest });
}

function fileLogger(path: string, logFormat: JsonObject): JsonObject {
  return extension('envoy.access_loggers.file', 'extensions.access_loggers.file.v3.FileAccessLog', { path, logFormat });
}

function openTelemetryLogger(openTelemetry: OpenTelemetryLog, context: LogContext): JsonObject | null {
  const clusterName = context.collector(openTelemetry);
  if (clusterName === null) return null;
  const text = (given: string): string => filled(given, context);
  const attributes = (openTelemetry.attributes ?? []).map(({ key, value }) => attribute(key, text(value)));
  const body = (openTelemetry.body as Json | undefined) ?? (context.isHttp ? HTTP_FORMAT : TCP_FORMAT);
  const type = 'extensions.access_loggers.open_telemetry.v3.OpenTelemetryAccessLogConfig';
  return extension('envoy.access_loggers.open_telemetry', type, {
    commonConfig: { logName: 'MeshAccessLog', grpcService: { envoyGrpc: { clusterName } }, transportApiVersion: 'V3' },
    resourceAttributes: {
      values: originAttributes(context).map(([key, value]) => attribute(key, value)),
    },
    body: anyValue(body, text),
    ...(attributes.length > 0 && { attributes: { values: attributes } }),
  });
}

function attribute(key: string, stringValue: string): JsonObject {
  return { key, value: { stringValue } };
}

/** Requests of one client, for one server name. Every rule that matches logs. @param match of `rules[]` */
export function clientFilter({ spiffeID, sni }: InboundMatch): LogFilter {
  const conditions = [
    ...(spiffeID === undefined ? [] : [spiffeCondition(spiffeID)]),
    ...(sni === undefined ? [] : [`connection.requested_server_name == ${JSON.stringify(sni.value)}`]),
  ];
  if (conditions.length === 0) return null;
  const expression = conditions.join(' && ');
  return {
    extensionFilter: extension(
      'envoy.access_loggers.extension_filters.cel',
      'extensions.access_loggers.filters.cel.v3.ExpressionFilter',
      { expression },
    ),
  };
}

function spiffeCondition({ type, value }: NonNullable<InboundMatch['spiffeID']>): string {
  const input = 'connection.uri_san_peer_certificate';
  const text = JSON.stringify(value);
  return type === 'Prefix' ? `${input}.startsWith(${text})` : `${input} == ${text}`;
}

/** Requests of one route, or of all routes without loggers of their own (`null`). */
export function routeFilter(route: string | null): JsonObject {
  const value = route === null ? { nullMatch: {} } : { stringMatch: { exact: route } };
  const matcher = { filter: 'kuma.routes', path: [{ key: 'route_kri' }], value };
  return { metadataFilter: { matcher, matchIfKeyNotFound: route === null } };
}

/** Metadata of a route by which `routeFilter` finds it. */
export function routeMetadata(route: string): JsonObject {
  return { filterMetadata: { 'envoy.filters.http.lua': { route_kri: route } } };
}

/** Access loggers see dynamic metadata alone: this filter copies that of the route there. */
export const routeMetadataFilter: JsonObject = extension('envoy.filters.http.lua', 'extensions.filters.http.lua.v3.Lua', {
  defaultSourceCode: {
    inlineString: `function envoy_on_request(handle)
  local meta = handle:metadata():get("route_kri")
  if meta ~= nil then
    handle:streamInfo():dynamicMetadata():set("kuma.routes", "route_kri", meta)
  end
end
`,
  },
});

function formatOf(format: Format | undefined, context: LogContext): JsonObject {
  const omit = format?.omitEmptyValues === true ? { omitEmptyValues: true } : {};
  if (format?.type === 'Json') {
    const entries = (format.json ?? []).map(({ key, value }): [string, string] => [key, filled(value, context)]);
    return { jsonFormat: Object.fromEntries(entries.sort(([a], [b]) => compareText(a, b))), ...omit };
  }
  const line = filled(format?.plain || (context.isHttp ? HTTP_FORMAT : TCP_FORMAT), context);
  return { textFormatSource: { inlineString: `${line}\n` }, ...omit };
}

function filled(text: string, { mesh, zone, source, destination, address, direction }: LogContext): string {
  const values: Readonly<Record<string, string>> = {
    MESH: mesh,
    ZONE: zone,
    SOURCE_SERVICE: source,
    DESTINATION_SERVICE: destination,
    SOURCE_ADDRESS_WITHOUT_PORT: address,
    SOURCE_ADDRESS: `${address}:0`,
    TRAFFIC_DIRECTION: direction,
  };
  return text.replace(/%KUMA_([A-Z_]+)%/g, (all, key: string) => values[key] ?? all);
}
