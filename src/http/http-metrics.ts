// Metrics of the REST API under Kuma's names (rest-api 8).
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Gauge, Histogram, type Registry } from 'prom-client';

/** Measures every request of `app`. The handler label is the route template, so that names do not become series. */
export function measureRequests(app: FastifyInstance, registry: Registry): void {
  const registers = [registry];
  const labelNames = ['service', 'handler', 'method', 'code'] as const;
  const seconds = new Histogram({
    name: 'api_server_http_request_duration_seconds',
    help: 'Time a request took',
    labelNames,
    registers,
  });
  const bytes = new Histogram({
    name: 'api_server_http_response_size_bytes',
    help: 'Size of the answers',
    labelNames,
    buckets: [100, 1_000, 10_000, 100_000, 1_000_000],
    registers,
  });
  const inflight = new Gauge({
    name: 'api_server_http_requests_inflight',
    help: 'Requests being answered',
    labelNames: ['service', 'handler'],
    registers,
  });
  // Callbacks, not promises: this runs with every request.
  app.addHook('onRequest', (request, _reply, done) => {
    inflight.inc({ service: '', handler: handlerOf(request) });
    done();
  });
  app.addHook('onResponse', (request, reply, done) => {
    const handler = handlerOf(request);
    const labels = { service: '', handler, method: request.method, code: String(reply.statusCode) };
    seconds.observe(labels, reply.elapsedTime / 1000);
    bytes.observe(labels, Number(reply.getHeader('content-length') ?? 0));
    inflight.dec({ service: '', handler });
    done();
  });
}

/** `/meshes/{mesh}/dataplanes/{name}`; empty without a route. */
function handlerOf(request: FastifyRequest): string {
  const { url = '' } = request.routeOptions;
  const known = handlers.get(url);
  if (known !== undefined) return known;
  const handler = url.replace(/:(\w+)/g, '{$1}');
  handlers.set(url, handler);
  return handler;
}

/** The labels by the template of the router. There is one for each route. */
const handlers = new Map<string, string>();
