// An OpenTelemetry collector: it takes spans, log records and metrics by gRPC, and keeps what it is sent.
import { Server, ServerCredentials } from '@grpc/grpc-js';
import protobuf from 'protobufjs/light.js';
import { objectOf, objectsOf, textOf } from '../../src/resource/read-json.ts';
import type { JsonObject } from '../../src/resource/types.ts';

type Attributes = Readonly<Record<string, string>>;
export type Span = { readonly name: string; readonly resource: Attributes; readonly attributes: Attributes };
export type LogRecord = { readonly body: string; readonly resource: Attributes; readonly attributes: Attributes };

const list = (type: string, id: number) => ({ rule: 'repeated', type, id });
/** The fields of OTLP that a test reads. */
const OTLP = protobuf.Root.fromJSON({
  nested: {
    Value: { fields: { stringValue: { type: 'string', id: 1 } } },
    KeyValue: { fields: { key: { type: 'string', id: 1 }, value: { type: 'Value', id: 2 } } },
    Resource: { fields: { attributes: list('KeyValue', 1) } },
    Span: { fields: { name: { type: 'string', id: 5 }, attributes: list('KeyValue', 9) } },
    ScopeSpans: { fields: { items: list('Span', 2) } },
    ResourceSpans: { fields: { resource: { type: 'Resource', id: 1 }, scopes: list('ScopeSpans', 2) } },
    Traces: { fields: { resources: list('ResourceSpans', 1) } },
    LogRecord: { fields: { body: { type: 'Value', id: 5 }, attributes: list('KeyValue', 6) } },
    ScopeLogs: { fields: { items: list('LogRecord', 2) } },
    ResourceLogs: { fields: { resource: { type: 'Resource', id: 1 }, scopes: list('ScopeLogs', 2) } },
    Logs: { fields: { resources: list('ResourceLogs', 1) } },
    Metric: { fields: { name: { type: 'string', id: 1 } } },
    ScopeMetrics: { fields: { items: list('Metric', 2) } },
    ResourceMetrics: { fields: { resource: { type: 'Resource', id: 1 }, scopes: list('ScopeMetrics', 2) } },
    Metrics: { fields: { resources: list('ResourceMetrics', 1) } },
  },
});

export class Collector {
  readonly port: number;
  readonly spans: Span[] = [];
  readonly records: LogRecord[] = [];
  /** Names of metrics. */
  readonly metrics = new Set<string>();
  readonly #server: Server;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.port = port;
  }

  static async listen(): Promise<Collector> {
    const server = new Server();
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      );
    });
    const collector = new Collector(server, port);
    collector.#take('trace.v1.TraceService', 'Traces', ({ name, attributes }, resource) =>
      collector.spans.push({ name: textOf(name), resource, attributes: textsOf(attributes) }),
    );
    collector.#take('logs.v1.LogsService', 'Logs', ({ body, attributes }, resource) =>
      collector.records.push({ body: textOf(objectOf(body)['stringValue']), resource, attributes: textsOf(attributes) }),
    );
    collector.#take('metrics.v1.MetricsService', 'Metrics', ({ name }) => collector.metrics.add(textOf(name)));
    return collector;
  }

  close(): void {
    this.#server.forceShutdown();
  }

  #take(
    service: string,
    message: 'Traces' | 'Logs' | 'Metrics',
    keep: (item: JsonObject, resource: Attributes) => unknown,
  ): void {
    const type = OTLP.lookupType(message);
    const Export = {
      path: `/opentelemetry.proto.collector.${service}/Export`,
      requestStream: false,
      responseStream: false,
      requestSerialize: (bytes: Buffer) => bytes,
      requestDeserialize: (bytes: Buffer): JsonObject => type.toObject(type.decode(bytes)),
      responseSerialize: (bytes: Buffer) => bytes,
      responseDeserialize: (bytes: Buffer) => bytes,
    } as const;
    this.#server.addService(
      { Export },
      {
        Export: ({ request }: { request: JsonObject }, answer: (error: null, bytes: Buffer) => void) => {
          for (const { resource, scopes } of objectsOf(request['resources']))
            for (const item of objectsOf(scopes).flatMap(({ items }) => objectsOf(items)))
              keep(item, textsOf(objectOf(resource)['attributes']));
          // An empty message: everything was taken.
          answer(null, Buffer.alloc(0));
        },
      },
    );
  }
}

function textsOf(attributes: unknown): Attributes {
  return Object.fromEntries(objectsOf(attributes).map(({ key, value }) => [textOf(key), textOf(objectOf(value)['stringValue'])]));
}
