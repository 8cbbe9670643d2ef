import { describe, expect, it } from 'vitest';
import type { Conf } from '../confs.ts';
import type { JsonObject } from '../../resource/types.ts';
import { accessLoggers, routeFilter, type LogContext } from './envoy.ts';

const HTTP_LINE =
  '[%START_TIME%] shop "%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%" %RESPONSE_CODE% %RESPONSE_FLAGS% ' +
  '%BYTES_RECEIVED% %BYTES_SENT% %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% "%REQ(X-FORWARDED-FOR)%" "%REQ(USER-AGENT)%" ' +
  '"%REQ(X-B3-TRACEID?X-DATADOG-TRACEID)%" "%REQ(X-REQUEST-ID)%" "%REQ(:AUTHORITY)%" "web" "db" "10.0.0.1" "%UPSTREAM_HOST%"';
const TCP_LINE =
  '[%START_TIME%] %RESPONSE_FLAGS% shop 10.0.0.1(web)->%UPSTREAM_HOST%(db) took %DURATION%ms, ' +
  'sent %BYTES_SENT% bytes, received: %BYTES_RECEIVED% bytes';
const CONTEXT: LogContext = {
  ...{ mesh: 'shop', zone: 'east', source: 'web', destination: 'db', address: '10.0.0.1', direction: 'OUTBOUND', isHttp: true },
  ...{ tcpPipe: '/pipe', workload: 'work', collector: ({ endpoint }) => (endpoint === 'otel' ? 'to_otel' : null) },
};

type Backends = NonNullable<Conf<'MeshAccessLog'>['backends']>;

/** The configurations of the loggers of these backends. */
function loggers(backends: object[], context: Partial<LogContext> = {}): JsonObject[] {
  return accessLoggers({ backends: backends as Backends }, { ...CONTEXT, ...context }).map(({ typedConfig }) => {
    const { '@type': _, ...config } = typedConfig as JsonObject;
    return config;
  });
}
const plain = (inlineString: string): JsonObject => ({ textFormatSource: { inlineString: `${inlineString}\n` } });

describe('a log in a file', () => {
  const formatOf = (format: JsonObject | undefined, context: Partial<LogContext> = {}): unknown => {
    const [logger] = loggers([{ type: 'File', file: { path: '/log', ...(format !== undefined && { format }) } }], context);
    expect(logger?.['path']).toBe('/log');
    return logger?.['logFormat'];
  };

  it('has a line for requests and another one for connections, unless the policy has its own', () => {
    for (const format of [undefined, {}, { type: 'Plain', plain: '' }]) {
      expect(formatOf(format)).toEqual(plain(HTTP_LINE));
      expect(formatOf(format, { isHttp: false })).toEqual(plain(TCP_LINE));
    }
    expect(formatOf({ plain: 'own' })).toEqual(plain('own'));
  });

  it('has what the control plane knows in place of its commands, and every other command as it is', () => {
    const line = '%KUMA_ZONE% %KUMA_SOURCE_ADDRESS% %KUMA_TRAFFIC_DIRECTION% %KUMA_MESH%%KUMA_OTHER% %DURATION%';
    expect(formatOf({ plain: line })).toEqual(plain('east 10.0.0.1:0 OUTBOUND shop%KUMA_OTHER% %DURATION%'));
  });

  it('may be JSON, with its keys sorted', () => {
    const json = [
      { key: 'b', value: '%KUMA_MESH%' },
      { key: 'a', value: '%DURATION%' },
      { key: 'c', value: 'x' },
    ];
    expect(Object.entries((formatOf({ type: 'Json', json }) as { jsonFormat: JsonObject }).jsonFormat)).toEqual([
      ['a', '%DURATION%'],
      ['b', 'shop'],
      ['c', 'x'],
    ]);
  });

  it('leaves empty values out where the policy says so', () => {
    expect(formatOf({ plain: 'a', omitEmptyValues: true })).toEqual({ ...plain('a'), omitEmptyValues: true });
    expect(formatOf({ plain: 'a', omitEmptyValues: false })).toEqual(plain('a'));
    expect(formatOf({ type: 'Json', json: [], omitEmptyValues: true })).toEqual({ jsonFormat: {}, omitEmptyValues: true });
  });
});

describe('a log to a TCP address', () => {
  it('goes through the pipe beside the proxy, with the address in each line', () => {
    const tcp = { address: 'log:1', format: { plain: 'a', omitEmptyValues: true } };
    expect(loggers([{ type: 'Tcp', tcp }])).toEqual([
      { path: '/pipe', logFormat: { jsonFormat: { address: 'log:1', message: 'a\n' }, omitEmptyValues: true } },
    ]);
    const json = [{ key: 'a', value: 'b' }];
    expect(loggers([{ type: 'Tcp', tcp: { address: 'log:2', format: { type: 'Json', json } } }])).toEqual([
      { path: '/pipe', logFormat: { jsonFormat: { address: 'log:2', message: { a: 'b' } } } },
    ]);
  });

  it('is none without such a pipe, and none of an unknown type', () => {
    expect(loggers([{ type: 'Tcp', tcp: { address: 'log:1' } }], { tcpPipe: null })).toEqual([]);
    expect(loggers([{ type: 'Other' }])).toEqual([]);
  });
});

describe('a log to a collector', () => {
  const log = (openTelemetry: JsonObject, context: Partial<LogContext> = {}): JsonObject | undefined =>
    loggers([{ type: 'OpenTelemetry', openTelemetry: { endpoint: 'otel', ...openTelemetry } }], context)[0];

  it('names the workload, and has the line of its protocol as its body', () => {
    expect(log({})).toEqual({
      commonConfig: {
        ...{ logName: 'MeshAccessLog', transportApiVersion: 'V3' },
        grpcService: { envoyGrpc: { clusterName: 'to_otel' } },
      },
      resourceAttributes: {
        values: [
          { key: 'kuma.mesh', value: { stringValue: 'shop' } },
          { key: 'kuma.zone', value: { stringValue: 'east' } },
          { key: 'kuma.workload', value: { stringValue: 'kri_wl_shop_east__work_' } },
        ],
      },
      body: { stringValue: HTTP_LINE },
    });
    expect(log({}, { isHttp: false })?.['body']).toEqual({ stringValue: TCP_LINE });
  });

  it('has the body and the attributes of the policy', () => {
    const given = log({ body: { a: '%KUMA_MESH%' }, attributes: [{ key: 'k', value: '%KUMA_ZONE%' }] });
    expect(given?.['body']).toEqual({ kvlistValue: { values: [{ key: 'a', value: { stringValue: 'shop' } }] } });
    expect(given?.['attributes']).toEqual({ values: [{ key: 'k', value: { stringValue: 'east' } }] });
  });

  it('is none without a collector', () => {
    expect(log({ endpoint: 'other' })).toBeUndefined();
  });
});

it('a logger has the condition that it is given', () => {
  const backends: Backends = [{ type: 'File', file: { path: '/log' } }];
  const [free] = accessLoggers({ backends }, CONTEXT);
  expect(free).not.toHaveProperty('filter');
  expect(accessLoggers({ backends }, CONTEXT, { a: 1 })).toEqual([{ ...free, filter: { a: 1 } }]);
});

it('a logger of one route takes its requests, and that of the others takes requests of no such route', () => {
  const matcher = { filter: 'kuma.routes', path: [{ key: 'route_kri' }] };
  expect(routeFilter('r')).toEqual({
    metadataFilter: { matcher: { ...matcher, value: { stringMatch: { exact: 'r' } } }, matchIfKeyNotFound: false },
  });
  expect(routeFilter(null)).toEqual({
    metadataFilter: { matcher: { ...matcher, value: { nullMatch: {} } }, matchIfKeyNotFound: true },
  });
});
