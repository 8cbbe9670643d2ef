// `POST /_format`: a document in the other notation, YAML or JSON, as `Accept` says. It checks and stores nothing: editors use it.
import type { FastifyInstance } from 'fastify';
import { parseJsonBody } from '../http/json-body.ts';
import { about } from '../http/route-config.ts';
import { MAX_YAML_BYTES, YAML, type Yaml } from '../http/yaml.ts';
import { callerWork } from '../http/caller-work.ts';
import { accepts } from '../http/accept.ts';

const route = about('Control plane', 'The same document in YAML or JSON, as Accept says', {
  body: { type: 'object' },
  takesYaml: true,
  rawBody: true,
  showsKeys: 'own',
  produces: [YAML],
});

export function addFormatRoute(app: FastifyInstance, yaml: Yaml): void {
  app.post('/_format', { ...route, bodyLimit: MAX_YAML_BYTES }, async (request, reply) => {
    const value = parseJsonBody(typeof request.body === 'string' ? request.body : '') ?? null;
    if (!accepts(request.headers.accept, YAML, { named: true })) return value;
    return reply.type(YAML).send(await yaml.print(JSON.stringify(value), callerWork(request)));
  });
}
